"""The entry points: on a system that is not Linux, one sentence, before anything else can fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.tiers import first

ELSEWHERE = """
import runpy, sys
sys.platform = {platform!r}
for name in ("fcntl", "termios", "pwd", "select", "_posixsubprocess"):  # what other systems do not have
    sys.modules[name] = None
sys.argv = ["outlive", *{words!r}]
"""
ENTRIES = {
    "outlive": f"runpy.run_path({str(Path(sys.executable).with_name('outlive'))!r}, run_name='__main__')",
    "python -m outlive": "runpy.run_module('outlive', run_name='__main__')",
}


@pytest.mark.parametrize("words", [[], ["run", "true"], ["mcp"], ["--version"]], ids=" ".join)
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("platform", first(1, ["darwin", "win32"]))
def test_a_system_that_is_not_linux_is_told_so_in_one_sentence(platform: str, entry: str, words: list[str]) -> None:
    program = ELSEWHERE.format(platform=platform, words=words) + ENTRIES[entry]
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "Linux" in done.stderr and "WSL 2" in done.stderr
