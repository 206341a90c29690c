"""The launcher of a command line that loads what starts a supervisor when it is needed."""

from __future__ import annotations

from functools import cached_property
from typing import Any


class LateLauncher:
    """That of from_cli.py, loaded at its first use: most verbs start nothing, and it is 4 % of `status`. A fork server, which
    loads all that it may need ahead, never loads it."""

    @cached_property
    def _loaded(self) -> Any:
        from outlive.launch.from_cli import Launcher  # late: see the class

        return Launcher()

    def prepare(self) -> None:
        self._loaded.prepare()

    def send(self, files: dict[str, int]) -> None:
        self._loaded.send(files)
