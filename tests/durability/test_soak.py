"""A short soak; `python -m tests.soak --kills 500` is the long one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parents[1] / "soak.py"


@pytest.mark.fault("F03")
@pytest.mark.parametrize("words", [("--kills", "20"), ("--kills", "6", "--both")], ids=["one", "both"])
@pytest.mark.slow
def test_random_kills_cost_no_line_no_code_and_no_second_run(place: Path, words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, str(SOAK), *words],
        env=os.environ | {"TMPDIR": str(place)},
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing was lost" in done.stdout
