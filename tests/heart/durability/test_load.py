"""A little of each load; `python -m tests.load` is the whole of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from load import ROWS

LOAD = Path(__file__).parents[2] / "load.py"


@pytest.mark.fault("F26", "F59", "F66", "F68", "F71", "F75")
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.slow
def test_much_of_one_thing_leaves_nothing_wrong(place: Path, row: str) -> None:
    done = subprocess.run(
        [sys.executable, str(LOAD), "--short", row],
        env=os.environ | {"TMPDIR": str(place)},
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"{row}: ")
    assert "WRONG" not in done.stdout
