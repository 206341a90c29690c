"""Where the output of a job ends in a log that some program has made longer than it is.

`truncate -s 1T` makes a log of a terabyte that takes no space. The supervisor gives it its length
back with the next output. Until then its readers stop at the first hole that is not one of ours.
"""

from __future__ import annotations

import os

from outlive.errors import OutliveError
from outlive.store.job_dir import LOGS, JobDir
from outlive.store.output.gap import GapFile
from outlive.system.fds import Closing

_SPARSE_BYTES = 1 << 20  # what a log is longer than the space it takes, if it is suspicious
_BLOCK = 65_536  # no file system has larger ones: a hole begins at the next one


def output_size(job: JobDir, stream: int) -> int:
    """Return the length of the output in a log; 0 if the log is missing or no regular file."""
    status = job.log_stat(stream)
    if status is None:
        return 0
    if status.st_size - status.st_blocks * 512 < _SPARSE_BYTES or status.st_size <= job.least_size(stream):
        return status.st_size
    try:
        with Closing(job.open_file(LOGS[stream])) as fd:
            return _end(job, fd, stream, status.st_size)
    except OSError:  # a file system without SEEK_HOLE, or nothing is behind a hole of ours
        return status.st_size


def _end(job: JobDir, fd: int, stream: int, size: int) -> int:
    at = 0
    while (hole := os.lseek(fd, at, os.SEEK_HOLE)) < size:
        behind = _behind_ours(job, stream, hole)
        if behind <= hole:
            first = max(at, hole - _BLOCK)
            return first + len(os.pread(fd, hole - first, first).rstrip(b"\0"))
        at = behind
    return size


def _behind_ours(job: JobDir, stream: int, hole: int) -> int:
    """Return where the last hole ends that is of the quota, or in place of what another program cut out. Read after
    `hole` was seen: each is recorded before it is made."""
    gaps = GapFile(job)
    try:
        behind = gaps.newest().streams[stream].stop
    finally:
        gaps.close()
    if behind <= hole:
        try:
            job.read_state()
        except (OSError, OutliveError):
            pass
        behind = job.log_cuts[2 * stream + 1]
    return behind
