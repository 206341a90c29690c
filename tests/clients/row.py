"""What `tests/clients` measures in one client, run as its command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clients.__main__ import NOT_INSTALLED
from clients.script import STEPS


def measured(name: str, place: Path, *options: str, run_s: float) -> dict[str, Any]:
    """Return the row of a client; skip the test if the client is not installed."""
    found = place / "measured.json"
    command = [sys.executable, str(Path(__file__).parent), name, *options, "--json", str(found)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=run_s, check=False)
    if done.returncode == NOT_INSTALLED:
        pytest.skip(done.stderr.strip())
    assert found.exists(), done.stderr
    row: dict[str, Any] = json.loads(found.read_text(encoding="utf-8"))[0]
    assert list(row["shown"]) == [step.name for step in STEPS], "the client did not come to the end"
    return row
