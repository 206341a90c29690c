"""A stand-in for systemd-run: it notes how it was called, does what the test says, and becomes the command, as the real one
does with --scope."""

from __future__ import annotations

import os
from pathlib import Path

_SCRIPT = """#!/bin/sh
printf '%s\\n' "$@" > "$0.words"
env > "$0.environment"
{act}
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""


class Standin:
    """`env` puts it in front of the real one. `words` is what it was called with last, up to the command."""

    def __init__(self, place: Path) -> None:
        place.mkdir()
        self._program = place / "systemd-run"
        self.env: dict[str, str | None] = {"PATH": f"{place}:{os.environ['PATH']}"}
        self.acts("")

    def acts(self, shell: str) -> None:
        """What it does before it becomes the command."""
        self._program.write_text(_SCRIPT.format(act=shell), encoding="utf-8")
        self._program.chmod(0o755)

    @property
    def called(self) -> bool:
        return Path(f"{self._program}.words").exists()

    @property
    def words(self) -> list[str]:
        words = Path(f"{self._program}.words").read_text(encoding="utf-8").splitlines()
        return words[: words.index("--")]

    @property
    def environment(self) -> dict[str, str]:
        lines = Path(f"{self._program}.environment").read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)

    def config(self, place: Path, line: str = "systemd_scope = true") -> str:
        """A configuration file that asks for scopes by this line of [exec]."""
        path = place / "scopes.toml"
        path.write_text(f"[exec]\n{line}\n", encoding="utf-8")
        return str(path)
