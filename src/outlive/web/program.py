"""`outlive ui`: serve the page on this machine, and open it in the browser."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from outlive import limits
from outlive.cli import stdio
from outlive.errors import OutliveError
from outlive.system import locks
from outlive.verbs import envelope

if TYPE_CHECKING:
    import socket
    from typing import Any

    from outlive.config import Config
    from outlive.mcp.caller import Caller
    from outlive.store.root import Store
    from outlive.web.api import Api
    from outlive.web.sessions import Session

_SERVER = ".ui.server"  # in the root: the address of the server that runs, which holds a lock on it
_HOST = "127.0.0.1"


def main(values: dict[str, Any], options: dict[str, Any]) -> int:
    """Serve the page until a signal ends the process; if a server of this root runs already, make
    a link to that one. `values` are the arguments of the verb, `options` the global ones.

    Errors: invalid_argument, config_error, io_error, store_unsafe.
    """
    from outlive import config
    from outlive.jobs.permission.person import is_in_job
    from outlive.store.root import Store
    from outlive.web.sessions import Sessions

    found = config.load(os.environ, options["config"])
    with ExitStack() as stack:
        store = stack.enter_context(closing(Store.open(options["root"], os.environ)))
        note = _note(store, stack)
        sessions = Sessions(store)
        if not locks.take(note, 0):
            _tell(store, _running(note), sessions.new_link(person=not is_in_job()), values, serves=False)
            return 0
        listener = stack.enter_context(_listen(values["port"], note))
        address = f"http://{_HOST}:{listener.getsockname()[1]}"
        ended_by = _serve(found, store, sessions, listener, note, address, values, options)
    if ended_by == signal.SIGINT:
        raise KeyboardInterrupt
    sys.stderr.flush()
    os._exit(0)  # the interpreter would wait for a thread that walks thousands of files


def _note(store: Store, stack: ExitStack) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(_SERVER, flags, 0o600, dir_fd=store.fd)
    stack.callback(os.close, fd)
    return fd


def _running(note: int) -> str:
    """Return the address of the server that runs. Errors: io_error if it has just been started."""
    address = os.pread(note, 200, 0).decode("ascii", "replace").strip()
    if not address.startswith("http://"):
        raise OutliveError(
            "io_error", "another `outlive ui` is being started", retryable=True, hint="Try again in a second."
        )
    return address


def _listen(port: int | None, note: int) -> socket.socket:
    """Return the listening socket.

    Without a port take that of the last server, so that pages which are open go on, else the usual
    one, else a free one.
    """
    from outlive.mcp.http.listener import listen

    asked = {"socket": None, "host": _HOST, "certfile": None, "plaintext": False}
    if port is not None:
        return listen({**asked, "port": port})
    before = os.pread(note, 200, 0).decode("ascii", "replace").strip().rpartition(":")[2]
    for wanted in ([int(before)] if before.isdigit() else []) + [limits.UI_PORT]:
        try:
            return listen({**asked, "port": wanted})
        except OutliveError:
            continue
    return listen({**asked, "port": 0})


def _tell(store: Store, address: str, link: str, values: dict[str, Any], *, serves: bool) -> None:
    """Open the browser, or print the one-time link."""
    url = f"{address}/open/{link}"
    if values["no_open"]:
        stdio.json_line(envelope.encoded(envelope.answer("ui", {"url": url, "root": store.path, "serves": serves})))
        return
    import webbrowser

    state = "is served at" if serves else "is served already at"
    stdio.note(f"outlive ui: the page {state} {address}{'; ^C ends it, jobs go on' if serves else ''}\n")
    if not webbrowser.open(url):
        stdio.note(f"outlive ui: no browser could be opened; this link is good once, within 10 minutes:\n{url}\n")


def _serve(
    found: Config,
    store: Store,
    sessions: Any,
    listener: socket.socket,
    note: int,
    address: str,
    values: dict[str, Any],
    options: dict[str, Any],
) -> int | None:
    """Serve until a signal comes, and return its number."""
    import anyio
    import uvicorn

    from outlive import verbs
    from outlive.jobs.permission.person import is_in_job
    from outlive.launch.fork_server_client import start
    from outlive.mcp.http import logging
    from outlive.mcp.http.allowed_hosts import LOCAL, AllowedHosts
    from outlive.mcp.http.connections import Connection, Server
    from outlive.mcp.job_environment import JobEnvironment
    from outlive.mcp.tools.call import Calls, Tools
    from outlive.mcp.tools.offer import PROCESS, RUN, process_verbs
    from outlive.web.api import Api
    from outlive.web.application import Page

    launcher = start()
    environment = JobEnvironment(os.environ)  # the person's own: no login shell is asked
    tools = Tools(verbs.load(RUN), process_verbs(), frozenset({PROCESS, "exec"}), found)
    calls = Calls(tools, found, environment, root=options["root"], launcher=launcher)
    me = _person()
    job = me._replace(client="ui-job", program="ui-job")  # a link that a job made for itself
    hosts = AllowedHosts([name if ":" not in name else f"[{name}]" for name in LOCAL])
    api = Api(calls, may_approve=lambda caller: caller is me)
    page = Page(
        api,
        sessions,
        hosts,
        caller_of=lambda session: me if session.person else job,
        is_valid=_came_by_link,
    )
    logging.keep_mistakes(_log)
    server = Server(
        uvicorn.Config(
            page.app,
            http=Connection,
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            h11_max_incomplete_event_size=limits.HTTP_HEADER_BYTES,
            timeout_keep_alive=int(limits.HTTP_IDLE_S),
            timeout_graceful_shutdown=limits.HTTP_SHUTDOWN_S,
        )
    )
    calls.is_stopping = lambda: server.should_exit
    gc.freeze()
    os.ftruncate(note, 0)
    os.pwrite(note, address.encode("ascii"), 0)
    _tell(store, address, sessions.new_link(person=not is_in_job()), values, serves=True)
    try:
        anyio.run(_until_stopped, server, listener, api)
    finally:
        calls.close()
        launcher.close()
    return server.ended_by


async def _until_stopped(server: Any, listener: socket.socket, api: Api) -> None:
    await server.serve(sockets=[listener])
    await api.close()


def _came_by_link(session: Session) -> bool:
    """Return whether a session is the user's own: one of a token has the rights of that token."""
    return session.token is None


def _person() -> Caller:
    """Return the user of the page as a caller: with all rights, as at a terminal."""
    from outlive.mcp.caller import Caller

    owner = os.environ.get("OUTLIVE_OWNER") or "cli"
    return Caller(owner, "ui", "ui", program="ui")


def _log(line: str) -> None:
    stdio.note(f"outlive ui: {line}\n")
