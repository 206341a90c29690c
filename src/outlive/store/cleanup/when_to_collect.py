"""When automatic gc is to look at the jobs: after the end of a job, at most once a minute. The time of the file
`.collected` says when it last did; one without content is new."""

from __future__ import annotations

import fcntl
import os
import time

from outlive.store import atomic_file
from outlive.system.fds import DIRECTORY, Closing

COLLECTED = ".collected"
EVERY_S = 60.0


def last(status: os.stat_result) -> float | None:
    """Return when the jobs were last looked at (Unix seconds), by the status of the file; None if they never were."""
    return status.st_mtime if status.st_size else None


def is_due(status: os.stat_result) -> bool:
    """Return whether a look is due. One in the future was before the clock was set back."""
    before = last(status)
    return before is None or not 0 <= time.time() - before < EVERY_S


def begin(fd: int) -> None:
    """Write into the locked file that a look begins: a look that a damaged job kills is not repeated at every end of a
    job. Errors: OSError."""
    os.pwrite(fd, b"\n", 0)
    os.utime(fd, (time.time(),) * 2)


def look(path: str) -> bool:
    """Return whether automatic gc is to be run in this root. Errors: OSError."""
    with Closing(os.open(path, DIRECTORY)) as root:
        if os.fstat(root).st_uid != os.geteuid():
            return False
        try:
            return is_due(os.stat(COLLECTED, dir_fd=root, follow_symlinks=False))
        except FileNotFoundError:
            return True


def locked(root: int) -> int:
    """Return an fd of the file, for this process alone. Errors: OSError, BlockingIOError while another one has it."""
    fd = atomic_file.open_regular(root, COLLECTED, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise
    return fd
