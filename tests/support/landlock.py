"""What the kernel offers of Landlock."""

from __future__ import annotations

import subprocess
import sys


def version() -> int:
    """Return the version of its ABI (landlock_create_ruleset(2)), less than 1 if there is none."""
    call = "import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))"
    return int(subprocess.run([sys.executable, "-c", call], capture_output=True, check=True).stdout)
