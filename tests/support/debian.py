"""Debian's packages, installed by the tests that need real daemons: as root, and without starting those daemons."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

_POLICY = Path("/usr/sbin/policy-rc.d")  # whether an installation may start a daemon


def path(name: str) -> str | None:
    """Return the path of a program; daemons are not on the PATH of everyone."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


def lacking(programs: Iterable[str], packages: Iterable[str]) -> list[str]:
    """Return which of the programs are not here, after an attempt to install the packages if some were not."""
    if all(map(path, programs)) or not shutil.which("apt-get"):
        return [name for name in programs if path(name) is None]
    with Path(__file__).open("rb") as lock:  # other workers want packages too, and apt-get waits for no other update
        fcntl.flock(lock, fcntl.LOCK_EX)
        if any(path(name) is None for name in programs):
            _install(packages)
    return [name for name in programs if path(name) is None]


def _install(packages: Iterable[str]) -> None:
    ours = not _POLICY.exists()
    if ours:
        _POLICY.write_text("#!/bin/sh\nexit 101\n", encoding="utf-8")
        _POLICY.chmod(0o755)
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        for words in (("update", "-qq"), ("install", "-y", "-qq", "--no-install-recommends", *packages)):
            apt = ["apt-get", "-o", "DPkg::Lock::Timeout=300", *words]
            subprocess.run(apt, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=600, check=False)
    finally:
        if ours:
            _POLICY.unlink()
