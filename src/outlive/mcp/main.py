"""`outlive mcp`: the MCP server of one client over stdin and stdout.

The order is for the start-up time: the fork server and the login shell work while the SDK is imported (half a second).
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading

from outlive.errors import OutliveError, invalid, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.mcp.environment import JobEnvironment

USAGE = """\
Usage: outlive mcp [--tools exec,process] [--channel] [--root PATH] [--config PATH]

Serve MCP on stdin and stdout, for one client. Jobs outlive the server: they go on when the client closes it.

  --tools LIST    The tools to offer: exec, process, or both (default). exec alone answers when the command has ended.
  --channel       Wake the client when a job that it started ends or hits a watch: notifications/claude/channel. Claude
                  Code shows them if it was started with --channels, or while that is a preview with
                  --dangerously-load-development-channels server:NAME, NAME being this server's in its configuration.
  --root PATH     The job root, instead of OUTLIVE_ROOT or the platform's place.
  --config PATH   The configuration file, instead of the one in the configuration directory.
  -h, --help      Print this help.
"""
_TOOLS = ("exec", "process")
_FLAGS = ("--tools", "--root", "--config")
_SWITCHES = ("--channel",)


def main(argv: list[str], options: dict[str, Any]) -> int:
    """`options`: the global options given before the verb. Errors: config_error, io_error."""
    try:
        asked = _parsed(argv, options)
    except OutliveError as error:
        from outlive.envelope import encoded, failure

        os.write(1, encoded(failure(error)) + b"\n")
        os.write(2, USAGE.encode())
        return 2
    if asked is None:
        os.write(1, USAGE.encode())
        return 0
    return _serve(asked)


def _parsed(argv: list[str], options: dict[str, Any]) -> dict[str, Any] | None:
    """tools, channel, root, config; None: help is wanted. Errors: invalid_argument."""
    channel = False
    found = {"--tools": ",".join(_TOOLS), "--root": options.get("root"), "--config": options.get("config")}
    words = list(argv)
    while words:
        flag, equals, value = words.pop(0).partition("=")
        if flag in ("-h", "--help"):
            return None
        if flag in _SWITCHES and not equals:
            channel = True
            continue
        if flag not in _FLAGS:
            near = nearest(flag, [*_FLAGS, *_SWITCHES])
            hint = f"Did you mean {near}?" if near else f"Known: {', '.join([*_FLAGS, *_SWITCHES])}."
            raise invalid(flag.lstrip("-"), f"unknown argument of outlive mcp: {flag}", hint=hint, usage=True)
        if not equals:
            if not words:
                raise invalid(flag.lstrip("-"), f"{flag} needs a value", usage=True)
            value = words.pop(0)
        if not value:
            raise invalid(flag.lstrip("-"), f"{flag} has an empty value", usage=True)
        found[flag] = value
    tools = _tools(str(found["--tools"]))
    return {"tools": tools, "channel": channel, "root": found["--root"], "config": found["--config"]}


def _tools(text: str) -> frozenset[str]:
    tools = frozenset(word.strip() for word in text.split(",") if word.strip())
    unknown = sorted(tools - set(_TOOLS))
    if unknown or not tools:
        message = f"not a tool: {unknown[0]}" if unknown else "--tools names no tool"
        raise invalid("tools", message, hint="Tools: exec, process.", usage=True)
    return tools


def _serve(asked: dict[str, Any]) -> int:
    from outlive.launch.nursery import start
    from outlive.system import first

    first.leave_it()
    # No state of ours needs a clean-up, so an interrupt ends us at once; asyncio would wait for the thread on stdin.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    launcher = start()
    try:
        from outlive import config
        from outlive.mcp.environment import JobEnvironment

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

    from outlive import actions
    from outlive.mcp import server
    from outlive.mcp.call import Calls, Tools, process_verbs

    gc.enable()
    gc.freeze()
    tools = Tools(actions.load("run"), process_verbs(), asked["tools"], found)
    calls = Calls(tools, found, environment, root=asked["root"], launcher=launcher)
    try:
        anyio.run(server.serve, server.build(calls, found, os.environ, channel=asked["channel"]), environment)
    except* (BrokenPipeError, ConnectionResetError):
        pass  # the client went away while we wrote to it: an end like any other
    finally:
        calls.close()
