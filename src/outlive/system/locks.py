"""Locks on single bytes of a file, owned by an open file description.

OFD locks (fcntl(2), "Open file description locks"): unlike POSIX record locks they are not lost when some other fd of
the same file is closed, they travel with fork and SCM_RIGHTS, and the kernel drops them when the last copy of the
description is gone, also after SIGKILL. Readers only *test* with F_OFD_GETLK, which takes nothing and works on a
read-only fd: a reader that took a shared lock to probe made a guardian's takeover fail.
"""

from __future__ import annotations

import errno
import fcntl
import struct

# macOS has the same calls since 10.15 but Python does not name them there (sys/fcntl.h: F_OFD_SETLK 90, SETLKW 91, GETLK 92).
_SETLK = getattr(fcntl, "F_OFD_SETLK", 90)
_SETLKW = getattr(fcntl, "F_OFD_SETLKW", 91)
_GETLK = getattr(fcntl, "F_OFD_GETLK", 92)
_LINUX = hasattr(fcntl, "F_OFD_SETLK")
# struct flock: Linux (64-bit) type whence start len pid; macOS start len pid type whence
_FLOCK = "hhqqi4x" if _LINUX else "qqihh"


def _flock(kind: int, byte: int) -> bytes:
    if _LINUX:
        return struct.pack(_FLOCK, kind, 0, byte, 1, 0)
    return struct.pack(_FLOCK, byte, 1, 0, kind, 0)


def take(fd: int, byte: int) -> bool:
    """Take the lock of one byte for the description behind `fd`; False if somebody else holds it."""
    try:
        fcntl.fcntl(fd, _SETLK, _flock(fcntl.F_WRLCK, byte))
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def wait_for(fd: int, byte: int) -> None:
    """Take the lock of one byte as soon as whoever holds it lets go."""
    fcntl.fcntl(fd, _SETLKW, _flock(fcntl.F_WRLCK, byte))


def is_held(fd: int, byte: int) -> bool:
    """Does another description hold this byte? Takes nothing."""
    answer = fcntl.fcntl(fd, _GETLK, _flock(fcntl.F_WRLCK, byte))
    kind = struct.unpack(_FLOCK, answer)[0 if _LINUX else 3]
    return bool(kind != fcntl.F_UNLCK)
