"""Giving back the disk space of a file's middle: its length and every offset in it stay."""

from __future__ import annotations

import ctypes
import errno
import os

_KEEP_SIZE, _PUNCH_HOLE = 1, 2  # linux/falloc.h
# The file system, or the system, cannot do it.
UNSUPPORTED = frozenset({errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOTTY, errno.EINVAL, errno.ENODEV})

_libc: ctypes.CDLL | None = None


def punch(fd: int, start: int, stop: int) -> None:
    """Bytes [start, stop) of the file read as zeros from now on; whole blocks among them take no space any more.

    Errors: OSError; with an errno of UNSUPPORTED there is no way to do it here.
    """
    if stop <= start:
        return
    global _libc
    if _libc is None:
        _libc = ctypes.CDLL(None, use_errno=True)
    call = getattr(_libc, "fallocate64", None) or getattr(_libc, "fallocate", None)
    if call is None:  # not Linux
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    offset, length = ctypes.c_int64(start), ctypes.c_int64(stop - start)
    while call(fd, _PUNCH_HOLE | _KEEP_SIZE, offset, length) != 0:
        number = ctypes.get_errno()
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number))
