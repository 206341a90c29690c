"""Where a test lives: the directories and the variables that it sees in place of the user's; and whether it failed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Neither our own variables, nor those by which a client is known, nor options for this pytest reach the tests.
_OUTER = tuple("OUTLIVE_ XDG_ CLAUDE CODEX CURSOR OPENCLAW VSCODE MCP_ PYTEST_ADDOPTS PYTEST_DEBUG_TEMPROOT".split())
FAILED = pytest.StashKey[bool]()  # whether a part of this test failed


def settle_in(place: Path) -> dict[str, str | None]:
    """Directories of its own, and the environment that leads to them: name → value, None for what may not be there."""
    # What lies in a home is made by the program that writes there; every directory less is a millisecond less for each test.
    for path in ("home", "run", "work"):
        (place / path).mkdir(mode=0o700, exist_ok=True)
    where = {
        "HOME": "home",
        "XDG_CONFIG_HOME": "home/.config",
        "XDG_DATA_HOME": "home/.local/share",
        "XDG_STATE_HOME": "home/.local/state",
        "XDG_CACHE_HOME": "home/.cache",
        "XDG_RUNTIME_DIR": "run",
        "OUTLIVE_ROOT": "jobs",
    }
    outer: dict[str, str | None] = {name: None for name in os.environ if name.startswith(_OUTER)}
    return outer | {name: str(place / path) for name, path in where.items()}


def change(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str | None]) -> None:
    for name, value in environment.items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
