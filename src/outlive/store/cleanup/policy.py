"""Which finished jobs are too many: by their age, their number, and the bytes of the whole store. Decides, deletes nothing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class Bounds:
    """What is to be kept. `older_than_s`: seconds since a job's end; None in any of them: no bound."""

    __slots__ = ("max_bytes", "max_jobs", "older_than_s")

    def __init__(self, older_than_s: float | None, max_jobs: int | None, max_bytes: int | None) -> None:
        self.older_than_s = older_than_s
        self.max_jobs = max_jobs
        self.max_bytes = max_bytes

    @classmethod
    def of(cls, found: dict[str, Any]) -> Bounds:
        """From what `to_dict` gave."""
        return cls(found.get("older_than_s"), found.get("max_jobs"), found.get("max_bytes"))

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


class Ended:
    """A finished job: `at` is when it ended (Unix seconds), `bytes` what deleting it gives back."""

    __slots__ = ("at", "bytes", "job_id")

    def __init__(self, job_id: str, at: float, size: int) -> None:
        self.job_id = job_id
        self.at = at
        self.bytes = size


def surplus(ended: Iterable[Ended], bounds: Bounds, *, now: float, other_bytes: int = 0) -> list[tuple[Ended, str]]:
    """(what is to go, why), the job that ended first in front. `other_bytes`: what jobs take that have not ended; they
    stay, and count towards `max_bytes`."""
    oldest_first = sorted(ended, key=lambda job: (job.at, job.job_id))
    jobs, used = len(oldest_first), other_bytes + sum(job.bytes for job in oldest_first)
    found = []
    for job in oldest_first:
        why = _why(job, bounds, now, jobs, used)
        if why is None:  # those behind it ended later, and what is kept gets no less
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
