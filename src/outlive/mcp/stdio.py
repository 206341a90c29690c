"""`outlive mcp`: the MCP server of one client over stdin and stdout.

The order of the steps saves start-up time: the fork server and the login shell start while the SDK
is imported, which takes half a second.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading

from outlive.mcp.tools.offer import offered, process_verbs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.mcp.job_environment import JobEnvironment

_ENDING = (signal.SIGINT, signal.SIGTERM)


def main(values: dict[str, Any], options: dict[str, Any]) -> int:
    """Serve until the client closes stdin, and return 0. `values` are the arguments of the verb,
    `options` the global ones. Errors: invalid_argument, config_error, io_error."""
    return _serve({**values, "tools": offered(values["tools"]), "root": options["root"], "config": options["config"]})


def _serve(asked: dict[str, Any]) -> int:
    from outlive.launch.fork_server_client import start
    from outlive.system import pid1

    pid1.leave_it()
    # Until the first request nothing needs a clean-up
    for number in _ENDING:
        signal.signal(number, signal.SIG_DFL)
    launcher = start()
    try:
        from outlive import config
        from outlive.mcp.job_environment import JobEnvironment

        found = config.load(os.environ, asked["config"])
        environment = JobEnvironment(os.environ)
        environment.start()
        _run(asked, found, environment, launcher)
    finally:
        launcher.close()
    sys.stdout.flush()
    if threading.active_count() > 1:  # the interpreter would wait for a slow action that was abandoned
        os._exit(0)
    return 0


async def _serve_until_signalled(built: Any, environment: JobEnvironment, launcher: Any) -> None:
    import anyio

    from outlive.mcp import server

    async with anyio.create_task_group() as group:
        group.start_soon(_end_when_signalled, launcher)
        await server.serve(built, environment)
        group.cancel_scope.cancel()


async def _end_when_signalled(launcher: Any) -> None:
    """End this process by the signal that it gets, between two steps of its calls: none leaves a
    file half-made.

    The event loop is not left in good order: asyncio would wait for the thread that reads stdin.
    """
    import anyio

    with anyio.open_signal_receiver(*_ENDING) as signals:
        async for number in signals:
            try:
                launcher.close()
            finally:
                signal.signal(number, signal.SIG_DFL)
                os.kill(os.getpid(), number)


def _run(asked: dict[str, Any], found: Any, environment: JobEnvironment, launcher: Any) -> None:
    gc.disable()  # the imports make half a million objects and keep them: collecting in between costs 50 ms
    import anyio

    from outlive import verbs
    from outlive.mcp import server
    from outlive.mcp.tools.call import Calls, Tools

    gc.enable()
    gc.freeze()
    tools = Tools(verbs.load("run"), process_verbs(), asked["tools"], found)
    calls = Calls(tools, found, environment, root=asked["root"], launcher=launcher)
    try:
        built = server.build(calls, found, os.environ, channel=asked["channel"], isolate=asked["isolate"])
        anyio.run(_serve_until_signalled, built, environment, launcher)
    except* (BrokenPipeError, ConnectionResetError):
        pass  # the client went away during a write: an end like any other
    finally:
        calls.close()
