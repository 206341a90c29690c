"""How a supervisor is started: a command line forks it, a server asks its fork server for one."""

from __future__ import annotations

from functools import cached_property
from typing import Any


class LateLauncher:
    """The launcher of a command line (from_cli.py), loaded at its first use: most verbs start nothing, and it is 4 % of
    `status`."""

    @cached_property
    def _loaded(self) -> Any:
        from outlive.launch.from_cli import Launcher  # late: see the class

        return Launcher()

    def prepare(self) -> None:
        self._loaded.prepare()

    def send(self, files: dict[str, int]) -> None:
        self._loaded.send(files)
