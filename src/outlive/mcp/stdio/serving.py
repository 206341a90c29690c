"""Serve a stdio connection with the SDK, from the first request that the first answers leave to it."""

from __future__ import annotations

import os
import signal

import anyio
from anyio.abc import TaskGroup
from mcp.server.lowlevel import Server

from outlive.mcp import server, threads
from outlive.mcp.own_code import OwnCode
from outlive.mcp.stdio import transport
from outlive.mcp.stdio.session import Session, log
from outlive.mcp.tools.arguments import Tools
from outlive.mcp.tools.call import Calls
from outlive.system import tree


def serve(session: Session) -> None:
    """Serve until the client closes the connection."""
    calls, built = build(session)
    built.middleware.append(OwnCode(log))
    try:
        anyio.run(_serve_until_signalled, built, calls, session)
    except* (BrokenPipeError, ConnectionResetError):
        pass  # the client went away during a write: an end like any other
    finally:
        calls.close()


def build(session: Session) -> tuple[Calls, server.OutliveServer]:
    """Return the SDK's server, and what runs its calls, which is to be closed."""
    settings, configuration, environment = session.settings, session.config, session.environment
    assert environment is not None  # since `prepare`
    tools = Tools(settings.tools, configuration)
    host = tree.client()
    calls = Calls(tools, configuration, environment, root=settings.root, launcher=session.launcher, host=host)
    return calls, server.build(
        calls,
        configuration,
        server.of_client(os.environ, isolate=settings.isolate),
        channel=settings.channel,
        answers=settings.answers,
        workdir_required=session.workdir_required,
    )


async def _serve_until_signalled(built: Server[TaskGroup], calls: Calls, session: Session) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(_end_when_signalled, session)
        async with transport.streams(session.wire, session.front, calls) as (received, sent):
            await built.run(received, sent, built.create_initialization_options())
        group.cancel_scope.cancel()


async def _end_when_signalled(session: Session) -> None:
    """End this process by the signal that it gets, between two steps of its calls: none leaves a
    file half-made."""
    with anyio.open_signal_receiver(*session.ENDING) as signals:
        async for number in signals:
            try:
                await threads.end_all()
                if session.launcher is not None:
                    session.launcher.close()
            finally:
                signal.signal(number, signal.SIG_DFL)
                os.kill(os.getpid(), number)
