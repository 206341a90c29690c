"""`outlive mcp`: the MCP server of one client over stdin and stdout.

The order is for the start-up time: the fork server and the login shell work while the SDK is imported (half a second).
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading

from outlive.errors import OutliveError
from outlive.mcp import flags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.mcp.job_environment import JobEnvironment

USAGE = """\
Usage: outlive mcp [--tools exec,process] [--channel] [--isolate] [--root PATH] [--config PATH]

Serve MCP on stdin and stdout, for one client. Jobs outlive the server: they go on when the client closes it.

  --tools LIST    The tools to offer: exec, process, or both (default). exec alone answers when the command has ended.
  --channel       Wake the client when a job that it started ends or hits a watch: notifications/claude/channel. Claude
                  Code shows them if it was started with --channels, or while that is a preview with
                  --dangerously-load-development-channels server:NAME, NAME being this server's in its configuration.
  --isolate       A wall: only jobs that this client started over MCP exist, told by the name it gives itself and the session
                  or project in its environment. Jobs of others cannot be listed, read, ended or guessed at.
  --root PATH     The job root, instead of OUTLIVE_ROOT or the platform's place.
  --config PATH   The configuration file, instead of the one in the configuration directory.
  -h, --help      Print this help.
"""
_VALUES = ("--tools", "--root", "--config")
_SWITCHES = ("--channel", "--isolate")


def main(argv: list[str], options: dict[str, Any]) -> int:
    """`options`: the global options given before the verb. Errors: config_error, io_error."""
    try:
        asked = flags.read("mcp", argv, _VALUES, _SWITCHES, options)
        if asked is None:
            os.write(1, USAGE.encode())
            return 0
        asked["tools"] = flags.tools(asked["tools"])
    except OutliveError as error:
        return flags.usage_error(error, USAGE)
    return _serve(asked)


def _serve(asked: dict[str, Any]) -> int:
    from outlive.launch.fork_server_client import start
    from outlive.system import pid1

    pid1.leave_it()
    # No state of ours needs a clean-up, so an interrupt ends us at once; asyncio would wait for the thread on stdin.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
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
    if threading.active_count() > 1:  # a slow action that was abandoned; the interpreter would wait for it
        os._exit(0)
    return 0


def _run(asked: dict[str, Any], found: Any, environment: JobEnvironment, launcher: Any) -> None:
    gc.disable()  # half a million objects are made and kept: collecting in between costs 50 ms
    import anyio

    from outlive import verbs
    from outlive.mcp import server
    from outlive.mcp.tools.call import Calls, Tools, process_verbs

    gc.enable()
    gc.freeze()
    tools = Tools(verbs.load("run"), process_verbs(), asked["tools"], found)
    calls = Calls(tools, found, environment, root=asked["root"], launcher=launcher)
    try:
        built = server.build(calls, found, os.environ, channel=asked["channel"], isolate=asked["isolate"])
        anyio.run(server.serve, built, environment)
    except* (BrokenPipeError, ConnectionResetError):
        pass  # the client went away while we wrote to it: an end like any other
    finally:
        calls.close()
