"""Which files are outlive's own: its configuration, its state and the job root. Nothing that a call
names is written into them.

A file has several names: links, bind mounts, another spelling. So it is known by what it is (device
and inode), it or a directory above it, and by its path where it does not exist yet.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from outlive.core.real_path import real_path


def owner_of(path: str, own: Iterable[str]) -> str | None:
    """Return the one of these files and directories that a file is, or is in; None if it is in none.
    Errors: ValueError."""
    real = real_path(path)
    above = [real]
    while above[-1] != "/":
        above.append(os.path.dirname(above[-1]))
    identities = {identity for identity in map(_identity, above) if identity}
    return next((one for one in own if real_path(one) in above or _identity(one) in identities), None)


def why_refused(fd: int, own: Iterable[str]) -> str | None:
    """Return why nothing is written into an open file, None if it may be."""
    one = owner_of(f"/proc/self/fd/{fd}", own)
    if one is not None:
        return refusal(one)
    status = os.fstat(fd)
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        return "refused: the file has several names (hard links), so it may be one of outlive's own"
    return None


def refusal(one: str) -> str:
    return f"refused: the file is in {one}, whose files are outlive's own"


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
