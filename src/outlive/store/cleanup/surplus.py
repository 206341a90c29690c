"""Which finished jobs are too many: by age, by number, by the bytes of the whole store, and by its
share of the file system. Decides; deletes nothing."""

from __future__ import annotations

from outlive.annotations import Iterable
from outlive.core.bounds import Bounds

# Seconds since the end of a job. Automatic gc, and any gc for the share of the file system, deletes no
# job that is younger than the first; for the share, one younger than the second only as the last way
GRACE_S, LAST_DAY_S = 300.0, 86_400.0
_OLD, _UNREAD, _LAST_DAY = range(3)  # in this order jobs are deleted for the share


class Ended:
    """A finished job. `at`: when it ended (Unix seconds). `bytes`: how much deleting it gives back.

    `unread`: a client is still to be told of the end. `foreign`: it ran on another machine, whose
    own outlive keeps its share of a root that both use.
    """

    __slots__ = ("at", "bytes", "foreign", "job_id", "unread")

    def __init__(self, job_id: str, at: float, size: int, *, unread: bool = False, foreign: bool = False) -> None:
        self.job_id = job_id
        self.at = at
        self.bytes = size
        self.unread = unread
        self.foreign = foreign

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


def surplus(
    ended: Iterable[Ended], bounds: Bounds, *, now: float, other_bytes: int = 0, share: Share | None = None
) -> list[tuple[Ended, str]]:
    """Return the jobs to delete, each with the bound it exceeds; the job that ended first comes
    first.

    `other_bytes`: what unfinished jobs take. They stay, and count towards `max_bytes`.
    """
    oldest_first = sorted(ended, key=lambda job: (job.at, job.job_id))
    jobs, used = len(oldest_first), other_bytes + sum(job.bytes for job in oldest_first)
    chosen = []
    for job in oldest_first:
        why = _why(job, bounds, now, jobs, used)
        if why is None:  # all others ended later, and no bound is exceeded any more
            break
        chosen.append((job, why))
        jobs -= 1
        used -= job.bytes
    if share is not None:
        chosen += [(job, "max_percent") for job in _beyond(oldest_first[len(chosen) :], share, now)]
    return chosen


def _why(job: Ended, bounds: Bounds, now: float, jobs: int, used: int) -> str | None:
    if bounds.older_than_s is not None and job.at < now - bounds.older_than_s:
        return "older_than"
    if bounds.max_jobs is not None and jobs > bounds.max_jobs:
        return "max_jobs"
    if bounds.max_bytes is not None and used > bounds.max_bytes:
        return "max_bytes"
    return None


def _beyond(oldest_first: list[Ended], share: Share, now: float) -> list[Ended]:
    """Return the jobs to delete for the share of the file system: old ones, then those whose client
    was not told, and those of the last day only if nothing else brings the store below its share."""
    own = [job for job in oldest_first if not job.foreign]
    young = [job for job in own if job.has_just_ended(now)]
    kept = share.kept_bytes + sum(job.bytes for job in young)
    used = share.kept_bytes + sum(job.bytes for job in own)
    if used <= share.limit_bytes:
        return []
    chosen: list[Ended] = []
    spared = set(map(id, young))
    ranked = [(_rank(job, now), at, job) for at, job in enumerate(own) if id(job) not in spared]
    for rank, _, job in sorted(ranked):
        enough = share.target_bytes if rank == _OLD else share.limit_bytes
        # What cannot be deleted may be more than the share: then these would be lost for nothing
        if used <= enough or (rank == _LAST_DAY and kept > share.limit_bytes):
            break
        chosen.append(job)
        used -= job.bytes
    return chosen


def _rank(job: Ended, now: float) -> int:
    if 0 <= now - job.at < LAST_DAY_S:
        return _LAST_DAY
    return _UNREAD if job.unread else _OLD
