"""What the kernel offers of Landlock, and what a process has to give up for it."""

from __future__ import annotations

import ctypes
import subprocess
import sys

_NO_NEW_PRIVS = 38  # linux/prctl.h


def version() -> int:
    """Return the version of its ABI (landlock_create_ruleset(2)), less than 1 if there is none."""
    call = "import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))"
    return int(subprocess.run([sys.executable, "-c", call], capture_output=True, check=True).stdout)


def gain_no_rights() -> None:
    """Have this process gain no rights by what it executes, as bwrap does."""
    ctypes.CDLL(None).prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
