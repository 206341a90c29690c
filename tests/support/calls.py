"""The tool calls of a server, made in this process, whose jobs get pairs that are forked from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from outlive import config, verbs
from outlive.launch.from_cli import Launcher
from outlive.mcp import server
from outlive.mcp.caller import Caller
from outlive.mcp.job_environment import JobEnvironment
from outlive.mcp.tools.arguments import Tools
from outlive.mcp.tools.call import Calls
from outlive.mcp.tools.offer import EXEC, PROCESS, RUN, process_verbs
from outlive.verbs.spec import Verb

BOUND_S = 20


CONFIG = config.load({"XDG_CONFIG_HOME": "/nonexistent"})


def calls_of(root: Path, *offers: str, **actions: Callable[..., object]) -> Calls:
    """Both tools, or those named, with the default configuration. The caller closes them. `actions` do what a verb does
    in its place."""
    every = {RUN: verbs.load(RUN), **process_verbs()}
    for name, does in actions.items():
        every[name] = Verb(name, "A made-up verb.", does, args=every[name].args, right=every[name].right)
    tools = Tools(offers or (EXEC, PROCESS), CONFIG, every)
    return Calls(tools, CONFIG, JobEnvironment({"PATH": "/usr/bin:/bin"}), root=str(root), launcher=Launcher())


def server_of(calls: Calls) -> Any:
    """A server for clients of the SDK in this process."""
    return server.build(calls, CONFIG, server.of_client({}, isolate=False))


def ask(calls: Calls, caller: Caller, tool: str, **given: Any) -> dict[str, Any]:
    """The envelope of one call."""

    async def run() -> dict[str, Any]:
        with anyio.fail_after(BOUND_S):
            return await calls.run(tool, given, caller)

    return anyio.run(run)
