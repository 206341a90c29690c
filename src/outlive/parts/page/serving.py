"""What `outlive ui` does once it listens: serve the page. Loading this loads the SDK."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import secrets
import socket
from collections.abc import Callable
from contextlib import closing, suppress

import anyio
from starlette.requests import Request

from outlive.cli import stdio
from outlive.config import Config
from outlive.core.record import Value
from outlive.launch.fork_server_client import Launcher
from outlive.mcp.caller import Caller
from outlive.mcp.job_environment import JobEnvironment
from outlive.mcp.masking import Masking
from outlive.mcp.tools.arguments import Tools
from outlive.mcp.tools.call import Calls
from outlive.mcp.tools.offer import TOOLS
from outlive.parts.approvals.person import is_person_at
from outlive.parts.http import connections, logging
from outlive.parts.http.allowed_hosts import AllowedHosts
from outlive.parts.page import peers
from outlive.parts.page.api import Api
from outlive.parts.page.application import Page
from outlive.parts.page.sessions import ASK_S, HOSTS, LinkKind, Sessions
from outlive.store.root import Store
from outlive.system import fds


class Door(Value):
    """The socket in the job root `store` that gives links."""

    listener: socket.socket
    store: Store


def serve(
    configuration: Config,
    listeners: list[socket.socket],
    door: Door,
    kind: LinkKind,
    tell: Callable[[str], None],
    launcher: Launcher,
    root: str | None,
) -> int | None:
    """Serve until a signal comes, and return its number. `tell` is
    called with the first one, of this `kind`."""
    environment = JobEnvironment(os.environ)  # the person's own: no login shell is asked
    tools = Tools(TOOLS, configuration)
    calls = Calls(tools, configuration, environment, root=root, launcher=launcher)
    calls.secrets = Masking()  # people see their own
    owner = os.environ.get("OUTLIVE_OWNER") or "cli"
    me = Caller(owner, "ui", "ui", program="ui", at_terminal=True)
    job = Caller(owner, "ui-job", "ui", program="ui-job")  # a link that a job made for itself
    name = f"{secrets.token_hex(8)}.localhost"
    address = f"http://{name}:{listeners[0].getsockname()[1]}/#link="
    # The number is for programs and for browsers that do not know names below localhost
    hosts = AllowedHosts([name, HOSTS[0]])
    api = Api(calls, may_approve=lambda caller: caller is me)
    sessions = Sessions()
    page = Page(api, sessions, hosts, caller_of=lambda session: me if session.person else job, is_own=_is_own)
    logging.keep_mistakes(lambda line: stdio.note(f"outlive ui: {line}\n"))
    server = connections.server(page.app, lifespan=False)
    calls.is_stopping = lambda: server.should_exit
    gc.freeze()
    tell(address + sessions.new_link(kind))
    try:
        anyio.run(_until_stopped, server, listeners, api, door, lambda kind: address + sessions.new_link(kind))
    finally:
        calls.close()
        launcher.close()
    return server.ended_by


async def _until_stopped(
    server: connections.Server,
    listeners: list[socket.socket],
    api: Api,
    door: Door,
    link: Callable[[LinkKind], str],
) -> None:

    async def give(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Give a new link to a process that may open the root: a person's if it is one's, whatever it says of itself."""
        with closing(writer), suppress(OSError, ValueError, TimeoutError):
            asked = json.loads(await asyncio.wait_for(reader.readline(), ASK_S))
            is_own = asked.get("own") is not False
            person = await asyncio.to_thread(_is_persons, door.store, writer.get_extra_info("socket"))
            writer.write(link(LinkKind(person=person, own=is_own)).encode() + b"\n")
            await writer.drain()

    giving = await asyncio.start_unix_server(give, sock=door.listener)
    await server.serve(sockets=listeners)
    giving.close()
    await api.close()


def _is_persons(store: Store, peer: socket.socket) -> bool:
    """Return whether a person may have started the process at the other end. It still has to run afterwards: the pid of one
    that has ended may be another's by now."""
    pid = fds.peer_pid(peer)
    handle = peers.open_peer(peer, pid)
    if handle is None:
        return False
    try:
        return is_person_at(store, pid) and not peers.has_ended(handle)
    finally:
        os.close(handle)


def _is_own(request: Request) -> bool:
    """Return whether the other end of a connection is a process of this user, or of root."""
    here, there = request.scope.get("server"), request.scope.get("client")
    if not here or not there:
        return False
    return peers.user_at((there[0], there[1]), (here[0], here[1])) in (os.geteuid(), 0)
