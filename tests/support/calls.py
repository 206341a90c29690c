"""The tool calls of a server, made in this process, whose jobs get pairs that are forked from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio

from outlive import config, verbs
from outlive.launch.from_cli import Launcher
from outlive.mcp.caller import Caller
from outlive.mcp.job_environment import JobEnvironment
from outlive.mcp.tools.call import Calls, Tools
from outlive.mcp.tools.offer import EXEC, PROCESS, process_verbs

BOUND_S = 20


class Known(JobEnvironment):
    """An environment for which no login shell has to be asked: each call of a test has an event loop of its own."""

    async def get(self) -> dict[str, str]:
        return self.current()


def calls_of(root: Path) -> Calls:
    """Both tools, with the default configuration. The caller closes them."""
    found = config.load({"XDG_CONFIG_HOME": "/nonexistent"})
    tools = Tools(verbs.load("run"), process_verbs(), (EXEC, PROCESS), found)
    return Calls(tools, found, Known({"PATH": "/usr/bin:/bin"}), root=str(root), launcher=Launcher())


def ask(calls: Calls, caller: Caller, tool: str, **given: Any) -> dict[str, Any]:
    """The envelope of one call."""

    async def run() -> dict[str, Any]:
        with anyio.fail_after(BOUND_S):
            return await calls.run(tool, given, caller)

    return anyio.run(run)
