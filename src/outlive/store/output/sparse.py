"""Where the output of a job ends in a log that some program has made longer than it is.

`truncate -s 1T` makes a log of a terabyte that takes no space. The supervisor gives it its length
back with the next output. Until then its readers stop at the first hole that is not one of ours.
"""

from __future__ import annotations

import os

from outlive.store.job_dir import LOGS, JobDir
from outlive.store.output import damage
from outlive.store.output.gap import GapFile
from outlive.system.fds import Closing

_SPARSE_BYTES = 1 << 20  # what a log is longer than the space it takes, if it is suspicious
_BLOCK = 65_536  # no file system has larger ones: a hole begins at the next one
_MOST_HOLES = 1_000  # of ours in one log


def output_size(job: JobDir, stream: int) -> int:
    """Return the length of the output in a log; 0 if the log is missing or no regular file."""
    status = job.log_stat(stream)
    if status is None:
        return 0
    if status.st_size - status.st_blocks * 512 < _SPARSE_BYTES or status.st_size <= job.least_size(stream):
        return status.st_size
    try:
        fd = job.open_file(LOGS[stream])
    except OSError:
        return status.st_size
    with Closing(fd):
        try:
            return _end(job, fd, stream, status.st_size)
        except OSError:  # a file system without SEEK_HOLE
            return status.st_size


def _end(job: JobDir, fd: int, stream: int, size: int) -> int:
    at = 0
    for _ in range(_MOST_HOLES):
        hole = os.lseek(fd, at, os.SEEK_HOLE)
        if hole >= size:
            return size
        # Read after the hole was seen: each is recorded before it is made
        behind = max((stop for start, stop in _ours(job, stream) if start <= hole < stop), default=0)
        if not behind:
            first = max(at, hole - _BLOCK)
            return first + len(os.pread(fd, hole - first, first).rstrip(b"\0"))
        if behind >= size:
            return size
        at = behind
    return size


def _ours(job: JobDir, stream: int) -> list[tuple[int, int]]:
    """Return the spans that the quota gave back, and those that another program cut out."""
    gaps = GapFile(job)
    try:
        hole = gaps.newest().of(stream)
    finally:
        gaps.close()
    return [(hole.start, hole.stop), *damage.read(job)[stream]]
