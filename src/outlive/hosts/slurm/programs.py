"""Slurm's programs: where they are, and what they say."""

from __future__ import annotations

import os
import shutil
import subprocess

from outlive.errors import OutliveError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NEEDED = ("sbatch", "squeue", "scancel", "srun", "sinfo", "scontrol")
ASK_S = 10.0  # a controller that is up answers within milliseconds


def path(name: str, record: Mapping[str, Any]) -> str:
    """Return the path of a program. `record` may have `programs`, the directory. Errors:
    launch_failed."""
    folder = record.get("programs")
    found = shutil.which(name, path=folder) if folder else shutil.which(name)
    if found is None:
        where = f"in {folder}" if folder else "on PATH"
        hint = "Install Slurm's client programs here (Debian: apt install slurm-client), or name their directory: "
        raise OutliveError("launch_failed", f"{name} is not {where}", hint=hint + "programs in [hosts.NAME].")
    return found


def run(name: str, record: Mapping[str, Any], *words: str, timeout_s: float = ASK_S) -> tuple[int, str, str]:
    """Return the exit status, the output and the error of a program; 124 if it took too long.
    Errors: launch_failed."""
    words = (path(name, record), *words)
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, env=environment(), check=False
        )
    except subprocess.TimeoutExpired:
        return 124, "", f"{name} did not answer within {timeout_s:.0f} s"
    return done.returncode, done.stdout.decode("utf-8", "replace"), said(done.stderr)


def environment() -> dict[str, str]:
    """Return an environment in which Slurm's programs write times in one form."""
    return {**os.environ, "SLURM_TIME_FORMAT": "%s", "LC_ALL": "C"}


def said(error: bytes) -> str:
    """Return the line of what a program wrote to stderr that says what is wrong."""
    lines = [line.strip() for line in error.decode("utf-8", "replace").splitlines() if line.strip()]
    if lines and lines[-1].startswith("Try "):  # Try "sbatch --help" for more information
        lines.pop()
    return lines[-1] if lines else ""
