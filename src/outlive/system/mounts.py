"""What kind of file system an open file lies on."""

from __future__ import annotations

import os

_DESCRIPTORS = "/proc/self/fdinfo"
_MOUNTS = "/proc/self/mountinfo"


def type_of(fd: int) -> str:
    """`ext4`, `nfs4`, …; "" where the system does not say. By the number of its mount: paths may be covered or renamed."""
    try:
        mount = next(line for line in _lines(f"{_DESCRIPTORS}/{fd}") if line.startswith(b"mnt_id:"))
        wanted = mount.split()[1]
        found = next(line for line in _lines(_MOUNTS) if line.split(b" ", 1)[0] == wanted)
    except (OSError, StopIteration):
        return ""
    return os.fsdecode(found.partition(b" - ")[2].split(b" ", 1)[0])  # proc_pid_mountinfo(5)


def _lines(path: str) -> list[bytes]:
    with open(path, "rb") as file:
        return file.read().splitlines()
