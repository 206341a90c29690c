"""What the server says of itself in answer to `initialize` and `server/discover`.

Nothing here needs the SDK: these are among the first answers (stdio/first_answers.py).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from functools import cache
from typing import Literal

import outlive
from outlive import parts
from outlive.mcp import instructions
from outlive.mcp.tools.offer import EXEC, PROCESS

NAME = "outlive"
_OUR_PLUGIN = (".codex-plugin/plugin.json", "skills/outlive/SKILL.md")  # files of it
DAY_MS = 86_400_000
# How long a client may keep the list of tools, and whether other clients may share it: what is offered
# depends on the client
TOOLS_CACHE: tuple[int, Literal["private"]] = (DAY_MS, "private")


def current_directory() -> str | None:
    """Return the path of the current directory, also if that was deleted: another one may be made there, as when a
    branch is switched. None without /proc."""
    try:
        return os.readlink("/proc/self/cwd").removesuffix(" (deleted)")
    except OSError:
        return None


def in_plugin(env: Mapping[str, str]) -> bool:
    """Return whether a host started the server in the directory of a plugin, where nothing of the user's is: each job
    then has to say where it runs. Codex names the directory in PLUGIN_ROOT; OpenClaw, which takes ours for a plugin of
    Codex, does not."""
    here = current_directory()
    if here is None:
        return False
    root = env.get("PLUGIN_ROOT")
    return bool(root and (here + "/").startswith(root.rstrip("/") + "/")) or _is_ours(here)


@cache  # each call asks
def _is_ours(here: str) -> bool:
    """Return whether our own plugin is in this directory, or in the one above it."""
    return any(
        all(map(os.path.exists, (f"{top}/{name}" for name in _OUR_PLUGIN))) for top in (here, os.path.dirname(here))
    )


class Introduction:
    """The words of one server, which `offers` these tools. `channel`: this option was given.
    `workdir_required`: each job has to say where it runs."""

    def __init__(self, offers: Collection[str], *, channel: bool = False, workdir_required: bool = False) -> None:
        self.server = {"name": NAME, "title": NAME, "version": outlive.__version__}
        self.instructions = instructions.INSTRUCTIONS if PROCESS in offers else instructions.WITH_EXEC_ALONE
        if EXEC not in offers:
            self.instructions = instructions.WITH_PROCESS_ALONE
        elif workdir_required:
            self.instructions += instructions.WITHOUT_DIRECTORY
        # The same in every revision of the protocol
        declared: dict[str, Mapping[str, object]] = {"tools": {"listChanged": False}}
        for part in parts.every():
            for name, members in [*part.capabilities.items(), *(part.with_channel.items() if channel else ())]:
                declared[name] = {**declared.get(name, {}), **members}
        self.capabilities: dict[str, object] = {name: declared[name] for name in sorted(declared)}
