"""`outlive ui`: serve the page on this machine, and open it in the browser.

Each server has an address that none had before: a free port, and a random name below `localhost`,
which browsers resolve to this machine by themselves. What another program, at this port before,
left in the browser (a service worker, files in the cache, storage, cookies) belongs to another
address, also where a person asks for the same port each time.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import os
import secrets
import signal
import socket
import sys
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, suppress
from typing import TYPE_CHECKING, Any

from outlive import config, verbs
from outlive.cli import stdio
from outlive.config import Config
from outlive.errors import OutliveError
from outlive.jobs.permission.person import is_person
from outlive.launch.fork_server_client import start
from outlive.mcp.caller import Caller
from outlive.mcp.http.listener import Address, listen, listen_local
from outlive.mcp.job_environment import JobEnvironment
from outlive.mcp.tools.offer import PROCESS, RUN, process_verbs
from outlive.store.root import Store
from outlive.system import locks, ports
from outlive.verbs import envelope
from outlive.verbs.spec import GlobalOptions
from outlive.web.sessions import LinkKind, Sessions

if TYPE_CHECKING:
    from starlette.requests import Request

    from outlive.mcp.http.connections import Server
    from outlive.web.api import Api


_SERVER = ".ui.server"  # in the root: the server that runs holds a lock on it
_SOCKET = ".ui.socket"  # in the root: gives a new link to a process of this user
_HOSTS = ("127.0.0.1", "::1")  # a name below localhost may mean either, so no other program may listen on one of them
_TRIES = 20  # of free ports, until one is free at both addresses
_ASK_S = 10.0
_ASK_BYTES = 10_000


def main(values: dict[str, Any], options: GlobalOptions) -> int:
    """Serve the page until a signal ends the process; if a server of this root runs already, make
    a link to that one. `values` are the arguments of the verb, `options` the global ones.

    Errors: invalid_argument, config_error, io_error, store_unsafe.
    """
    configuration = config.load(os.environ, options.config)
    with ExitStack() as stack:
        store = stack.enter_context(closing(Store.open(options.root, os.environ)))
        # A link that a browser is started with is in the list of processes for all users to see
        kind = LinkKind(person=is_person(store), own=not values["no_open"])
        if not locks.take(_note(store, stack), 0):
            _tell(store, _asked(store, kind), values, serves=False)
            return 0
        listeners = [stack.enter_context(one) for one in _listen(values["port"])]
        door = stack.enter_context(listen_local(f"/proc/self/fd/{store.fd}/{_SOCKET}"))
        ended_by = _serve(configuration, store, listeners, door, kind, values, options)
    if ended_by == signal.SIGINT:
        raise KeyboardInterrupt
    sys.stderr.flush()
    os._exit(0)  # the interpreter would wait for a thread that walks thousands of files


def _note(store: Store, stack: ExitStack) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(_SERVER, flags, 0o600, dir_fd=store.fd)
    stack.callback(os.close, fd)
    return fd


def _asked(store: Store, kind: LinkKind) -> str:
    """Return a new link to the server that runs. Errors: io_error if it has just been started."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(_ASK_S)
        try:
            sock.connect(f"/proc/self/fd/{store.fd}/{_SOCKET}")
            sock.sendall(json.dumps(kind._asdict()).encode() + b"\n")
            with sock.makefile("rb") as answers:
                url = answers.readline(_ASK_BYTES).decode().strip()
        except (OSError, UnicodeError):
            url = ""
    if not url:
        raise OutliveError(
            "io_error", "another `outlive ui` is being started", retryable=True, hint="Try again in a second."
        )
    return url


def _listen(port: int | None) -> list[socket.socket]:
    """Return the listening sockets: one port, a free one unless it was asked for, at each loopback
    address of this machine. Errors: io_error."""
    left = 1 if port else _TRIES
    while True:
        left -= 1
        first = listen(Address(_HOSTS[0], port or 0))
        try:
            return [first, listen(Address(_HOSTS[1], first.getsockname()[1]))]
        except OutliveError as error:
            number = getattr(error.__cause__, "errno", None)
            if number in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):  # this machine has no IPv6
                return [first]
            first.close()
            if number != errno.EADDRINUSE or not left:
                raise


def _tell(store: Store, url: str, values: Mapping[str, object], *, serves: bool) -> None:
    """Open the browser, or print the one-time link."""
    if values["no_open"]:
        stdio.json_line(envelope.encoded(envelope.answer("ui", {"url": url, "root": store.path, "serves": serves})))
        return

    state = "is served at" if serves else "is served already at"
    address = url.partition("#")[0]
    stdio.note(f"outlive ui: the page {state} {address}{'; ^C ends it, jobs go on' if serves else ''}\n")
    if not webbrowser.open(url):
        stdio.note(f"outlive ui: no browser could be opened; this link is good once, within 10 minutes:\n{url}\n")


def _serve(
    configuration: Config,
    store: Store,
    listeners: list[socket.socket],
    door: socket.socket,
    kind: LinkKind,
    values: Mapping[str, object],
    options: GlobalOptions,
) -> int | None:
    """Serve until a signal comes, and return its number. `door` is the socket that gives links,
    `kind` the link that is opened now."""
    launcher = start()
    import anyio  # late, as the next: a second `outlive ui` does not serve

    from outlive.mcp.http import logging, runner
    from outlive.mcp.http.allowed_hosts import AllowedHosts
    from outlive.mcp.tools.call import Calls, Tools
    from outlive.web.api import Api
    from outlive.web.application import Page

    environment = JobEnvironment(os.environ)  # the person's own: no login shell is asked
    tools = Tools(verbs.load(RUN), process_verbs(), frozenset({PROCESS, "exec"}), configuration)
    calls = Calls(tools, configuration, environment, root=options.root, launcher=launcher)
    me = _person()
    job = me._replace(client="ui-job", program="ui-job")  # a link that a job made for itself
    name = f"{secrets.token_hex(8)}.localhost"
    address = f"http://{name}:{listeners[0].getsockname()[1]}/#link="
    # The number is for programs and for browsers that do not know names below localhost
    hosts = AllowedHosts([name, _HOSTS[0]])
    api = Api(calls, may_approve=lambda caller: caller is me)
    sessions = Sessions()
    page = Page(api, sessions, hosts, caller_of=lambda session: me if session.person else job, is_own=_is_own)
    logging.keep_mistakes(_log)
    server = runner.server(page.app, lifespan=False)
    calls.is_stopping = lambda: server.should_exit
    gc.freeze()
    _tell(store, address + sessions.new_link(kind), values, serves=True)
    try:
        anyio.run(_until_stopped, server, listeners, api, door, lambda kind: address + sessions.new_link(kind))
    finally:
        calls.close()
        launcher.close()
    return server.ended_by


async def _until_stopped(
    server: Server, listeners: list[socket.socket], api: Api, door: socket.socket, link: Callable[[LinkKind], str]
) -> None:

    async def give(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Give a new link to a process that may open the root."""
        with closing(writer), suppress(OSError, ValueError, TimeoutError):
            asked = json.loads(await asyncio.wait_for(reader.readline(), _ASK_S))
            kind = LinkKind(person=asked.get("person") is True, own=asked.get("own") is not False)
            writer.write(link(kind).encode() + b"\n")
            await writer.drain()

    giving = await asyncio.start_unix_server(give, sock=door)
    await server.serve(sockets=listeners)
    giving.close()
    await api.close()


def _is_own(request: Request) -> bool:
    """Return whether the other end of a connection is a process of this user, or of root."""
    here, there = request.scope.get("server"), request.scope.get("client")
    if not here or not there:
        return False
    return ports.user_at((there[0], there[1]), (here[0], here[1])) in (os.geteuid(), 0)


def _person() -> Caller:
    """Return the user of the page as a caller: with all rights, as at a terminal."""
    owner = os.environ.get("OUTLIVE_OWNER") or "cli"
    return Caller(owner, "ui", "ui", program="ui")


def _log(line: str) -> None:
    stdio.note(f"outlive ui: {line}\n")
