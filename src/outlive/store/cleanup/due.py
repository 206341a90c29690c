"""When automatic gc is to look at the jobs, and how much the store took when it was last measured.

To measure a store is one look at each file. What grew since then cannot be more than the free space
of the file system became less, unless other files were deleted meanwhile. So the store is measured
again when as much space is gone as the store may still grow by, and from time to time. Both costs
one statvfs(2) and one small file, `.collected`: a digit (1, or 2 after a sweep that was cut short),
then when the store was measured (Unix seconds), its bytes, the free bytes, and for how long that
took (ms). The time of the file says when jobs were last looked at for the other bounds.
"""

from __future__ import annotations

import fcntl
import os
import time

from outlive.core.ids import only_ids
from outlive.errors import OutliveError
from outlive.store.job_dir import JobDir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from outlive.store.cleanup.policy import Bounds

COLLECTED = ".collected"
AGE_EVERY_S = 3_600.0  # seconds between two collections where only the age or the share is bounded
EVERY_S = 60.0  # where the number or the bytes are bounded, because a store may grow fast
# A store is measured so rarely that it takes at most this part of the time
_WORTH = 1_000
_SMALL_JOBS = 64  # a store with no more is measured within milliseconds
_SIXTEENTH = 16  # of the share: a smaller loss of free space is no reason to measure again
_FILE = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW


class Last:
    """What `.collected` says. `at`: when the other bounds than the share were last enforced, 0 if
    never. `measured_at` 0: never, or by a version that did not write it down."""

    __slots__ = ("at", "cut_short", "free_bytes", "is_new", "measured_at", "took_ms", "used_bytes")

    def __init__(self, fd: int) -> None:
        """Errors: OSError."""
        data = os.pread(fd, 200, 0)
        words = data.split()
        figures = [int(word) for word in words[1:]] if len(words) == 5 and b"".join(words).isdigit() else [0] * 4
        self.at = os.fstat(fd).st_mtime if data else 0.0
        self.is_new = self.at == 0
        # Versions without figures wrote one byte, or two after a sweep that was cut short
        self.cut_short = len(data) == 2 or words[:1] == [b"2"]
        self.measured_at, self.used_bytes, self.free_bytes, self.took_ms = figures

    @classmethod
    def of_root(cls, root: int) -> Last | None:
        """Return what the file in this root says; None if there is none."""
        try:
            fd = os.open(COLLECTED, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=root)
        except OSError:
            return None
        try:
            return cls(fd)
        finally:
            os.close(fd)

    def write(self, fd: int) -> None:
        """Write this into the locked file. Errors: OSError."""
        figures = (self.measured_at, self.used_bytes, self.free_bytes, self.took_ms)
        data = f"{2 if self.cut_short else 1} {' '.join(str(int(one)) for one in figures)}\n".encode()
        os.pwrite(fd, data, 0)
        os.ftruncate(fd, len(data))
        os.utime(fd, (self.at, self.at))

    def measured(self, used_bytes: int, free_bytes: int, began: float) -> None:
        """Take in a measurement that began at `began` (time.monotonic)."""
        self.measured_at, self.used_bytes, self.free_bytes = int(time.time()), used_bytes, free_bytes
        self.took_ms = int((time.monotonic() - began) * 1000)


def room(root: int, percent: float | None) -> tuple[int | None, int]:
    """Return the bytes that a store in this root may take, None where they are not bounded or
    the file system does not say how large it is, and how many bytes are free."""
    found = os.statvfs(root)
    whole = found.f_blocks * found.f_frsize
    free = found.f_bfree * found.f_frsize
    return (int(whole * percent / 100) if percent is not None and whole else None), free


def is_due(root: int, last: Last | None, bounds: Bounds, now: float) -> bool:
    """Return whether `collect` should look for jobs to delete now."""
    if last is None or last.cut_short:
        return True
    # A time in the future was written before the clock was set back
    since = now - last.at if now >= last.at else now
    fast = bounds.max_jobs is not None or bounds.max_bytes is not None
    if (fast and since >= EVERY_S) or (bounds.older_than_s is not None and since >= AGE_EVERY_S):
        return True
    return bounds.max_percent is not None and _is_to_be_measured(root, last, bounds, now)


def _is_to_be_measured(root: int, last: Last, bounds: Bounds, now: float) -> bool:
    limit, free = room(root, bounds.max_percent)
    if limit is None:
        return False
    since = now - last.measured_at
    pause = max(EVERY_S if last.used_bytes > limit else AGE_EVERY_S, last.took_ms * _WORTH / 1000)
    if not 0 <= since < pause:
        return True
    may_grow = max(limit - last.used_bytes, limit // _SIXTEENTH)
    return since >= EVERY_S and last.free_bytes - free >= may_grow


def look(path: str, bounds: Bounds) -> bool:
    """Return whether automatic gc is to be run in this root. A small store is measured here:
    most are far below their share, and that is written down. Errors: OSError."""
    root = os.open(path, _DIRECTORY)
    try:
        if os.fstat(root).st_uid != os.geteuid() or not is_due(root, Last.of_root(root), bounds, time.time()):
            return False
        if bounds.has_others:
            return True
        began = time.monotonic()
        ids = only_ids(_names(root))
        limit, free = room(root, bounds.max_percent)
        if limit is None:
            return False
        if len(ids) > _SMALL_JOBS:
            return True
        used = disk_bytes(path, root, ids)
        if used > limit:
            return True
        _note(root, used, free, began)
        return False
    finally:
        os.close(root)


def _names(root: int) -> list[str]:
    fd = os.open(".", _DIRECTORY, dir_fd=root)
    try:
        return os.listdir(fd)
    finally:
        os.close(fd)


def _note(root: int, used: int, free: int, began: float) -> None:
    fd = os.open(COLLECTED, _FILE, 0o600, dir_fd=root)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        last = Last(fd)
        last.measured(used, free, began)
        last.write(fd)
    except BlockingIOError:  # another process is at it
        return
    finally:
        os.close(fd)


def disk_bytes(path: str, root: int, ids: Iterable[str]) -> int:
    """Return how many bytes deleting all of these jobs would give back."""
    total = 0
    for job_id in ids:
        try:
            fd = os.open(job_id, _DIRECTORY, dir_fd=root)
            with JobDir(path, job_id, fd) as job:
                total += job.disk_bytes()
        except (OSError, OutliveError):  # a link, or deleted meanwhile
            continue
    return total
