"""Give back the disk space of a part of a file, whose length and offsets stay as they are."""

from __future__ import annotations

import errno
import fcntl
import os
import struct

from outlive.system import prctl

# linux/falloc.h: struct space_resv (type, whence, start, length, three that are not looked at), and
# the request that punches
_SPACE = struct.Struct("hhqqiI16x")
_UNRESVSP64 = 1 << 30 | _SPACE.size << 16 | ord("X") << 8 | 43
_KEEP_SIZE, _PUNCH_HOLE = 1, 2
# The file system, or the kernel, cannot do it
UNSUPPORTED = frozenset({errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOTTY, errno.EINVAL, errno.ENODEV})


def punch(fd: int, start: int, stop: int) -> None:
    """Make bytes [start, stop) of the file zeros; whole blocks take no space from then on. Errors: OSError; an errno of
    UNSUPPORTED means that it cannot be done here."""
    if stop <= start:
        return
    while True:
        try:
            fcntl.ioctl(fd, _UNRESVSP64, _SPACE.pack(0, os.SEEK_SET, start, stop - start, 0, 0))
            return
        except InterruptedError:
            continue
        except OSError as error:
            if error.errno not in (errno.ENOTTY, errno.EINVAL):
                raise
        # Linux before 5.6, or an architecture with other ioctl numbers
        _fallocate(fd, start, stop - start)
        return


def _fallocate(fd: int, start: int, length: int) -> None:
    """Do the same by fallocate(2), through ctypes. Errors: as `punch`."""
    try:
        ctypes = prctl.whole_ctypes()
    except ImportError as error:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from error
    libc = ctypes.CDLL(None, use_errno=True)
    call = getattr(libc, "fallocate64", None) or libc.fallocate  # musl has the second name only
    while call(fd, _PUNCH_HOLE | _KEEP_SIZE, ctypes.c_int64(start), ctypes.c_int64(length)) != 0:
        number = ctypes.get_errno()
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number))
