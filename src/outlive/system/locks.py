"""Locks on single bytes of a file, owned by an open file description.

OFD locks (fcntl(2), "Open file description locks"): unlike POSIX record locks they are not lost
when some other fd of the same file is closed, they travel with fork and SCM_RIGHTS, and the kernel
drops them when the last copy of the description is gone, also after SIGKILL. Readers only *test*
with F_OFD_GETLK, which takes nothing and works on a read-only fd: a reader that took a shared lock
to probe made a guardian's takeover fail.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import time
from collections.abc import Callable, Iterator
from typing import Self

from outlive.core.record import Value

# linux/fcntl.h; a Python that was built with an old C library has no names for them
_GETLK, _SETLK, _SETLKW = 36, 37, 38
_FLOCK = "hhqqi4x"  # struct flock (64-bit): type, whence, start, length, pid


class LockFile:
    """An open file that all job roots of a user share, on whose bytes jobs hold locks. Close it after use, which leaves the
    locks to other copies of `fd`."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    @classmethod
    def opened(cls, path: str) -> Self:
        """Errors: OSError."""
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        return cls(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))

    @classmethod
    def read(cls, path: str) -> Self:
        """Open the file to look at it. Errors: OSError."""
        return cls(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW))

    def close(self) -> None:
        os.close(self.fd)


def _flock(kind: int, byte: int, count: int = 1) -> bytes:
    return struct.pack(_FLOCK, kind, os.SEEK_SET, byte, count, 0)


def take(fd: int, byte: int) -> bool:
    """Take the lock of one byte for the description behind `fd`; return False if another one holds it."""
    return _is_set(fd, fcntl.F_WRLCK, byte)


def share(fd: int, byte: int) -> bool:
    """Take a lock that other descriptions may share; return False if one holds the byte alone."""
    return _is_set(fd, fcntl.F_RDLCK, byte)


def _is_set(fd: int, kind: int, byte: int) -> bool:
    try:
        fcntl.fcntl(fd, _SETLK, _flock(kind, byte))
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def free(fd: int, byte: int) -> None:
    """Give up the lock of one byte, for all copies of the description behind `fd`."""
    fcntl.fcntl(fd, _SETLK, _flock(fcntl.F_UNLCK, byte))


def wait_for(fd: int, byte: int) -> None:
    """Wait until no other description holds the lock of one byte, and take it."""
    fcntl.fcntl(fd, _SETLKW, _flock(fcntl.F_WRLCK, byte))


def is_shared(fd: int, byte: int) -> bool:
    """Return whether other descriptions share one byte. Takes nothing."""
    return _conflict(fd, byte, 1).kind == fcntl.F_RDLCK


def is_held(fd: int, byte: int, count: int = 1) -> bool:
    """Return whether another description holds any of these bytes. Takes nothing."""
    return _conflict(fd, byte, count).kind != fcntl.F_UNLCK


def held_by_others(fd: int, first: int, stop: int) -> Iterator[int]:
    """Yield the first byte of each lock that other descriptions hold on bytes of [first, stop), in no order. Takes nothing."""
    todo = [(first, stop)]
    while todo:
        first, stop = todo.pop()
        found = _conflict(fd, first, stop - first) if first < stop else _NONE
        if found.kind != fcntl.F_UNLCK:
            yield found.first
            # Of several the kernel names any. One of 0 bytes has no end
            todo += [(first, found.first), (found.first + found.length if found.length else stop, stop)]


def flock(fd: int, until: float, wait: Callable[[], None]) -> None:
    """flock(2) a file alone, by `until` (time.monotonic() seconds): a job could hold it for ever. `wait`: between two tries.
    Errors: BlockingIOError."""
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise
        wait()


class _Lock(Value):
    """A lock on bytes of a file."""

    kind: int
    first: int = 0
    length: int = 0


_NONE = _Lock(fcntl.F_UNLCK)


def _conflict(fd: int, byte: int, count: int) -> _Lock:
    """Return a lock that another description holds on any of these bytes."""
    kind, _, first, length, _ = struct.unpack(_FLOCK, fcntl.fcntl(fd, _GETLK, _flock(fcntl.F_WRLCK, byte, count)))
    return _Lock(kind, first, length)
