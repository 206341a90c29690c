"""What deleting jobs would give back."""

from __future__ import annotations

from outlive.errors import OutliveError, invalid
from outlive.jobs import adoption, lookup
from outlive.jobs.context import Context
from outlive.store import delete
from outlive.system.waiting import checkpoint

MOST_JOBS = 400  # of one call


def ended(ctx: Context, jobs: list[str]) -> dict[str, int]:
    """Return those of these jobs that have ended, with the bytes that deleting each gives back. Errors:
    invalid_argument."""
    if len(jobs) > MOST_JOBS or not all(isinstance(job, str) for job in jobs):
        raise invalid("jobs", f"jobs is an array of at most {MOST_JOBS} ids")
    sizes: dict[str, int] = {}
    for job_id in jobs:
        checkpoint()
        try:
            with lookup.open_job(ctx, job_id) as job:
                inspection = adoption.inspect_and_adopt(ctx, job)
                if inspection.state.finished and not inspection.supervised:
                    sizes[job.job_id] = delete.bytes_of_job(job)
        except (OutliveError, OSError):  # it was removed
            continue
    return sizes
