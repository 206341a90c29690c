"""When automatic gc is to look at the jobs: after the end of a job, at most once a minute.

A large store more rarely: a look takes at most a hundredth of the time. The time of the file `.collected` says when the
next look is due; it contains the bytes that all jobs took at the last one.
"""

from __future__ import annotations

import fcntl
import os
import time
from typing import NamedTuple

from outlive.store import atomic_file
from outlive.system.fds import DIRECTORY, Closing

COLLECTED = ".collected"
EVERY_S = 60.0
_WORTH = 100  # the part of the time that a look may take
_LATEST_S = 86_400.0  # no look is put off longer: a later time was written before the clock was set back


class Last(NamedTuple):
    """The last look. `due_at`: when the next one is due (Unix seconds). `used_bytes`: None if nothing was measured."""

    due_at: float
    used_bytes: int | None


def last(fd: int) -> Last | None:
    """Return what the file says; None if it is new. Errors: OSError."""
    data = os.pread(fd, 100, 0)
    if not data:
        return None
    return Last(os.fstat(fd).st_mtime, int(data) if data.endswith(b"\n") and data.strip().isdigit() else None)


def last_in(root: int) -> Last | None:
    """Return the last look at the jobs of this root; None if there was none."""
    try:
        fd = os.open(COLLECTED, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=root)
    except OSError:
        return None
    with Closing(fd):
        return last(fd)


def is_due(look: Last | None, now: float) -> bool:
    return look is None or not 0 < look.due_at - now <= _LATEST_S


def begin(fd: int, now: float) -> None:
    """Write into the locked file that a look begins: a look that a damaged job kills is not repeated at every end of a
    job. Errors: OSError."""
    _write(fd, b"-\n", now + EVERY_S)


def end(fd: int, now: float, used_bytes: int | None, took_s: float) -> None:
    """Write into the locked file what a look found, and how long it took. Errors: OSError."""
    data = b"-\n" if used_bytes is None else b"%d\n" % used_bytes
    _write(fd, data, now + min(max(EVERY_S, took_s * _WORTH), _LATEST_S))


def _write(fd: int, data: bytes, due_at: float) -> None:
    os.pwrite(fd, data, 0)
    os.ftruncate(fd, len(data))
    os.utime(fd, (due_at, due_at))


def share(root: int, percent: float | None) -> int | None:
    """Return the bytes that a store in this root may take, None where they are not bounded or the
    file system does not say how large it is."""
    if percent is None:
        return None
    status = os.statvfs(root)
    return int(status.f_blocks * status.f_frsize * percent / 100) or None


def look(path: str) -> bool:
    """Return whether automatic gc is to be run in this root. Errors: OSError."""
    with Closing(os.open(path, DIRECTORY)) as root:
        return os.fstat(root).st_uid == os.geteuid() and is_due(last_in(root), time.time())


def locked(root: int) -> int:
    """Return an fd of the file, for this process alone. Errors: OSError, BlockingIOError while another one has it."""
    fd = atomic_file.open_regular(root, COLLECTED, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise
    return fd
