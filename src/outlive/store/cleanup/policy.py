"""Which finished jobs are too many: by age, by number, and by the bytes of the whole store.
Decides; deletes nothing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class Bounds:
    """What is to be kept. `older_than_s`: seconds since a job's end. None in any of them means no
    bound."""

    __slots__ = ("max_bytes", "max_jobs", "older_than_s")

    def __init__(self, older_than_s: float | None, max_jobs: int | None, max_bytes: int | None) -> None:
        self.older_than_s = older_than_s
        self.max_jobs = max_jobs
        self.max_bytes = max_bytes

    @classmethod
    def of(cls, found: dict[str, Any]) -> Bounds:
        """Return the bounds that `to_dict` gave."""
        return cls(found.get("older_than_s"), found.get("max_jobs"), found.get("max_bytes"))

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


class Ended:
    """A finished job. `at`: when it ended (Unix seconds). `bytes`: how much deleting it gives
    back."""

    __slots__ = ("at", "bytes", "job_id")

    def __init__(self, job_id: str, at: float, size: int) -> None:
        self.job_id = job_id
        self.at = at
        self.bytes = size


def surplus(ended: Iterable[Ended], bounds: Bounds, *, now: float, other_bytes: int = 0) -> list[tuple[Ended, str]]:
    """Return the jobs to delete, each with the bound it exceeds; the job that ended first comes
    first.

    `other_bytes`: what unfinished jobs take. They stay, and count towards `max_bytes`.
    """
    oldest_first = sorted(ended, key=lambda job: (job.at, job.job_id))
    jobs, used = len(oldest_first), other_bytes + sum(job.bytes for job in oldest_first)
    found = []
    for job in oldest_first:
        why = _why(job, bounds, now, jobs, used)
        if why is None:  # all others ended later, and no bound is exceeded any more
            break
        found.append((job, why))
        jobs -= 1
        used -= job.bytes
    return found


def _why(job: Ended, bounds: Bounds, now: float, jobs: int, used: int) -> str | None:
    if bounds.older_than_s is not None and job.at < now - bounds.older_than_s:
        return "older_than"
    if bounds.max_jobs is not None and jobs > bounds.max_jobs:
        return "max_jobs"
    if bounds.max_bytes is not None and used > bounds.max_bytes:
        return "max_bytes"
    return None
