"""How much of the disk jobs take."""

from __future__ import annotations

import os
from collections.abc import Iterable

from outlive.errors import OutliveError
from outlive.store.job_dir import IO, SEEN, JobDir
from outlive.system.fds import DIRECTORY, Closing


def of_job(job: JobDir) -> int:
    """Return how many bytes deleting the directory of a job gives back. Errors: OSError."""
    total, inner = _bytes_in(job.fd)
    for name in inner:
        if name in (IO, SEEN):
            try:
                fd = os.open(name, DIRECTORY, dir_fd=job.fd)
            except OSError:
                continue
            with Closing(fd):
                total += _bytes_in(fd)[0]
    return total


def of_jobs(path: str, root: int, ids: Iterable[str]) -> int:
    """Return how many bytes deleting all of these jobs would give back."""
    total = 0
    for job_id in ids:
        try:
            fd = os.open(job_id, DIRECTORY, dir_fd=root)
            with JobDir(path, job_id, fd) as job:
                total += of_job(job)
        except (OSError, OutliveError):  # a link, or deleted meanwhile
            continue
    return total


def share(root: int, percent: float | None) -> int | None:
    """Return the bytes that a store in this root may take, None where they are not bounded or the
    file system does not say how large it is."""
    if percent is None:
        return None
    status = os.statvfs(root)
    return int(status.f_blocks * status.f_frsize * percent / 100) or None


def _bytes_in(fd: int) -> tuple[int, list[str]]:
    """Return the bytes that what is in a directory takes, and the names of the directories in it."""
    total, inner = 0, []
    with os.scandir(fd) as entries:
        for entry in entries:
            try:
                total += entry.stat(follow_symlinks=False).st_blocks * 512
            except FileNotFoundError:  # its supervisor has renamed it meanwhile
                continue
            if entry.is_dir(follow_symlinks=False):
                inner.append(entry.name)
    return total, inner
