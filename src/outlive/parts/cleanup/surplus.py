"""Which finished jobs are too many: by age, by number, by the bytes of the whole store, and by its share of the file system.
Decides; deletes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable

from outlive.core.record import Value
from outlive.parts.cleanup.bounds import Bounds


def bytes_of_share(root: int, percent: float | None) -> int | None:
    """Return the bytes that a store in this root may take, None where they are not bounded or the
    file system does not say how large it is."""
    if percent is None:
        return None
    status = os.statvfs(root)
    return int(status.f_blocks * status.f_frsize * percent / 100) or None


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
