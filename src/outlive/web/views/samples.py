"""What running jobs use at this moment, for the curves of a page. Nothing is measured while no page
asks."""

from __future__ import annotations

import time

from outlive.errors import OutliveError, invalid
from outlive.jobs import adoption, job_answer, lookup
from outlive.jobs.context import Context
from outlive.jobs.diagnosis import use
from outlive.store.output.merged import Output
from outlive.system.waiting import checkpoint

MOST_JOBS = 50  # of one call


def samples(ctx: Context, *, jobs: list[str]) -> dict[str, object]:
    """Return `[processor time in ms, memory in bytes, bytes of output]` of each of these jobs that
    runs on this machine, and the time of the look in ms. Errors: invalid_argument."""
    if len(jobs) > MOST_JOBS or not all(isinstance(job, str) for job in jobs):
        raise invalid("jobs", f"jobs is an array of at most {MOST_JOBS} ids")
    by_job: dict[str, list[int]] = {}
    for job_id in jobs:
        checkpoint()
        try:
            one = _sample(ctx, job_id)
        except (OutliveError, OSError):  # it was removed
            continue
        if one is not None:
            by_job[job_id] = one
    return {"at": round(time.time() * 1000), "samples": by_job}


def _sample(ctx: Context, job_id: str) -> list[int] | None:
    with lookup.open_job(ctx, job_id) as job:
        inspection = adoption.inspect_and_adopt(ctx, job)
        # A host is not asked every other second: its jobs have no curves
        if inspection.state.finished or inspection.elsewhere or not inspection.supervised:
            return None
        with Output(job) as output:
            used = use.of_job(inspection, job, output, job_answer.used(inspection))
            if used is None:
                return None
            cpu = (used.user_ms or 0) + (used.system_ms or 0)
            return [cpu, used.memory_bytes or 0, output.end]
