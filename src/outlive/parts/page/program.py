"""`outlive ui`: serve the page on this machine, and open it in the browser.

Each server has an address that none had before: a free port, and a random name below `localhost`,
which browsers resolve to this machine by themselves. What another program, at this port before,
left in the browser (a service worker, files in the cache, storage, cookies) belongs to another
address, also where a person asks for the same port each time.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack, closing
from typing import Any

from outlive import config
from outlive.cli import stdio
from outlive.errors import OutliveError
from outlive.jobs.context import note_workspaces
from outlive.launch.fork_server_client import start
from outlive.mcp.introduction import current_directory
from outlive.parts.approvals.person import is_person_at
from outlive.parts.http.listener import Address, listen, listen_local
from outlive.parts.page.sessions import ASK_S, HOSTS, LinkKind
from outlive.store.root import Store
from outlive.system import locks, own_programs
from outlive.verbs import envelope
from outlive.verbs.spec import GlobalOptions

_SERVER = ".ui.server"  # in the root: the server that runs holds a lock on it
_SOCKET = ".ui.socket"  # in the root: gives a new link to a process of this user, a person's to no job
_TRIES = 20  # of free ports, until one is free at both addresses
_ASK_BYTES = 10_000


def main(values: dict[str, Any], options: GlobalOptions) -> int:
    """Serve the page until a signal ends the process; if a server of this root runs already, make
    a link to that one. `values` are the arguments of the verb, `options` the global ones.

    Errors: invalid_argument, config_error, io_error, store_unsafe.
    """
    configuration = config.load(os.environ, options.config)
    note_workspaces(configuration, os.environ, current_directory())
    with ExitStack() as stack:
        store = stack.enter_context(closing(Store.open(options.root, os.environ)))
        # A link that a browser is started with is in the list of processes for all users to see
        kind = LinkKind(person=is_person_at(store, os.getpid()), own=not values["no_open"])
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        note = os.open(_SERVER, flags, 0o600, dir_fd=store.fd)
        stack.callback(os.close, note)
        if not locks.take(note, 0):
            _tell(store, _asked(store, kind), values, serves=False)
            return 0
        listeners = [stack.enter_context(one) for one in _listen(values["port"])]
        door = stack.enter_context(listen_local(f"/proc/self/fd/{store.fd}/{_SOCKET}"))
        launcher = start()
        from outlive.parts.page import serving  # late: a second `outlive ui` does not serve

        def tell(url: str) -> None:
            _tell(store, url, values, serves=True)

        ended_by = serving.serve(
            configuration, listeners, serving.Door(door, store), kind, tell, launcher, options.root
        )
    if ended_by == signal.SIGINT:
        raise KeyboardInterrupt
    sys.stderr.flush()
    os._exit(0)  # the interpreter would wait for a thread that walks thousands of files


def _asked(store: Store, kind: LinkKind) -> str:
    """Return a new link to the server that runs. Errors: io_error if it has just been started."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(ASK_S)
        try:
            sock.connect(f"/proc/self/fd/{store.fd}/{_SOCKET}")
            sock.sendall(json.dumps({"own": kind.own}).encode() + b"\n")
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
        first = listen(Address(HOSTS[0], port or 0))
        try:
            return [first, listen(Address(HOSTS[1], first.getsockname()[1]))]
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
    if not _opened(url):
        stdio.note(f"outlive ui: no browser could be opened; this link is good once, within 10 minutes:\n{url}\n")


def _opened(url: str) -> bool:
    """Return whether a browser was opened. It is found by a process that looks where no job can write."""
    code = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"
    command = [sys.executable, "-I", "-S", "-c", code, url]
    env = own_programs.environment(os.environ)
    return subprocess.run(command, env=env, cwd=own_programs.ELSEWHERE, check=False).returncode == 0
