"""When automatic gc is to look at the jobs, and how much the store took when it was last measured.

To measure a store is one look at each file, so a store is measured at most once a minute, and a
large one more rarely. A small file remembers it, `.collected`: a digit (1, or 2 after a sweep that
was cut short), then when the store was measured (Unix seconds), its bytes, and for how long that
took (ms). The time of the file says when jobs were last looked at for the other bounds.
"""

from __future__ import annotations

import fcntl
import os
import time

from outlive.core.bounds import Bounds
from outlive.core.ids import only_ids
from outlive.store import atomic_file
from outlive.store.cleanup import disk_use
from outlive.system.fds import DIRECTORY, Closing, names_in

COLLECTED = ".collected"
AGE_EVERY_S = 3_600.0  # seconds between two collections where only the age is bounded
EVERY_S = 60.0  # where the number, the bytes or the share are bounded, because a store may grow fast
# A store is measured so rarely that it takes at most this part of the time
_WORTH = 100
_SMALL_JOBS = 64  # a store with no more is measured within milliseconds


class Last:
    """What `.collected` says. `at`: when the other bounds than the share were last enforced, 0 if
    never. `measured_at` 0: never."""

    def __init__(self, fd: int) -> None:
        """Errors: OSError."""
        data = os.pread(fd, 200, 0)
        words = data.split()
        figures = [int(word) for word in words[1:]] if len(words) == 4 and b"".join(words).isdigit() else [0] * 3
        self.at = os.fstat(fd).st_mtime if data else 0.0
        self.is_new = self.at == 0
        self.cut_short = words[:1] == [b"2"]
        self.measured_at, self.used_bytes, self.took_ms = figures

    @classmethod
    def of_root(cls, root: int) -> Last | None:
        """Return what the file in this root says; None if there is none."""
        try:
            fd = os.open(COLLECTED, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=root)
        except OSError:
            return None
        with Closing(fd):
            return cls(fd)

    def write(self, fd: int) -> None:
        """Write this into the locked file. Errors: OSError."""
        figures = (self.measured_at, self.used_bytes, self.took_ms)
        data = f"{2 if self.cut_short else 1} {' '.join(str(int(one)) for one in figures)}\n".encode()
        os.pwrite(fd, data, 0)
        os.ftruncate(fd, len(data))
        os.utime(fd, (self.at, self.at))

    def measured(self, used_bytes: int, began: float) -> None:
        """Take in a measurement that began at `began` (time.monotonic)."""
        self.measured_at, self.used_bytes = int(time.time()), used_bytes
        self.took_ms = int((time.monotonic() - began) * 1000)


def share(root: int, percent: float | None) -> int | None:
    """Return the bytes that a store in this root may take, None where they are not bounded or the
    file system does not say how large it is."""
    if percent is None:
        return None
    status = os.statvfs(root)
    return int(status.f_blocks * status.f_frsize * percent / 100) or None


def is_due(root: int, last: Last | None, bounds: Bounds, now: float) -> bool:
    """Return whether `collect` should look for jobs to delete now."""
    if last is None or last.cut_short:
        return True
    # A time in the future was written before the clock was set back
    since = now - last.at if now >= last.at else now
    fast = bounds.max_jobs is not None or bounds.max_bytes is not None
    if (fast and since >= EVERY_S) or (bounds.older_than_s is not None and since >= AGE_EVERY_S):
        return True
    if share(root, bounds.max_percent) is None:
        return False
    return not 0 <= now - last.measured_at < max(EVERY_S, last.took_ms * _WORTH / 1000)


def look(path: str, bounds: Bounds) -> bool:
    """Return whether automatic gc is to be run in this root. A small store is measured here:
    most are far below their share, and that is written down. Errors: OSError; BlockingIOError while
    another process collects."""
    with Closing(os.open(path, DIRECTORY)) as root:
        if os.fstat(root).st_uid != os.geteuid() or not is_due(root, Last.of_root(root), bounds, time.time()):
            return False
        if bounds.has_others:
            return True
        began = time.monotonic()
        ids = only_ids(names_in(root))
        limit = share(root, bounds.max_percent)
        if limit is None:
            return False
        if len(ids) > _SMALL_JOBS:
            return True
        used = disk_use.of_jobs(path, root, ids)
        if used > limit:
            return True
        with Closing(locked(root)) as stamp:
            last = Last(stamp)
            last.measured(used, began)
            last.write(stamp)
        return False


def locked(root: int) -> int:
    """Return an fd of the file, for this process alone. Errors: OSError, BlockingIOError while another one has it."""
    fd = atomic_file.open_regular(root, COLLECTED, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise
    return fd
