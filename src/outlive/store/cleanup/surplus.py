"""Which finished jobs are too many: by age, by number, by the bytes of the whole store, and by its
share of the file system; and how much of the disk jobs take. Decides; deletes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from outlive.core.record import Value
from outlive.core.records import Bounds
from outlive.errors import OutliveError
from outlive.store.job_dir import IO, SEEN, JobDir
from outlive.system.fds import DIRECTORY, Closing


def bytes_of_job(job: JobDir) -> int:
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


def bytes_of_jobs(path: str, root: int, ids: Iterable[str]) -> int:
    """Return how many bytes deleting all of these jobs would give back."""
    total = 0
    for job_id in ids:
        with suppress(OSError, OutliveError):  # a link, or deleted meanwhile
            fd = os.open(job_id, DIRECTORY, dir_fd=root)
            with JobDir(path, job_id, fd) as job:
                total += bytes_of_job(job)
    return total


def bytes_of_share(root: int, percent: float | None) -> int | None:
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


# Seconds since the end of a job: automatic gc, and any gc for the share of the file system, deletes no younger one
GRACE_S = 300.0


class Ended(Value):
    """A finished job. `at`: when it ended (Unix seconds). `bytes`: how much deleting it gives back.

    `foreign`: it ran on another machine, whose own outlive keeps its share of a root that both use.
    """

    job_id: str
    at: float
    bytes: int
    foreign: bool = False

    def has_just_ended(self, now: float) -> bool:
        """Return whether callers that waited for the job may still be reading it. (A job that ended in
        the future ended before the clock was set back.)"""
        return 0 <= now - self.at < GRACE_S


class Share:
    """The bytes that the jobs of this machine may take. `kept_bytes`: what those of them take that
    cannot be deleted. Above `limit_bytes` old jobs are deleted until `target_bytes` are left."""

    def __init__(self, limit_bytes: int, kept_bytes: int, target_bytes: int | None = None) -> None:
        self.limit_bytes = limit_bytes
        self.kept_bytes = kept_bytes
        self.target_bytes = limit_bytes if target_bytes is None else target_bytes


def too_many(
    ended: Iterable[Ended], bounds: Bounds, *, now: float, other_bytes: int = 0, share: Share | None = None
) -> list[tuple[Ended, str]]:
    """Return the jobs to delete, each with the bound it exceeds; the job that ended first comes
    first.

    `other_bytes`: what unfinished jobs take. They stay, and count towards `max_bytes`.
    """
    oldest_first = sorted(ended, key=lambda job: (job.at, job.job_id))
    jobs, used = len(oldest_first), other_bytes + sum(job.bytes for job in oldest_first)
    surplus_of_share = 0  # bytes
    if share is not None:
        own = share.kept_bytes + sum(job.bytes for job in oldest_first if not job.foreign)
        surplus_of_share = own - share.target_bytes if own > share.limit_bytes else 0
    chosen = []
    for job in oldest_first:
        why = _why(job, bounds, now, jobs, used)
        if why is None and surplus_of_share > 0 and not job.foreign and not job.has_just_ended(now):
            why = "max_percent"
        if why is None:
            continue
        chosen.append((job, why))
        jobs -= 1
        used -= job.bytes
        surplus_of_share -= 0 if job.foreign else job.bytes
    return chosen


def _why(job: Ended, bounds: Bounds, now: float, jobs: int, used: int) -> str | None:
    if bounds.older_than_s is not None and job.at < now - bounds.older_than_s:
        return "older_than"
    if bounds.max_jobs is not None and jobs > bounds.max_jobs:
        return "max_jobs"
    if bounds.max_bytes is not None and used > bounds.max_bytes:
        return "max_bytes"
    return None
