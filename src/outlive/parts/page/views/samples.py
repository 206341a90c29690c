"""What jobs use and used, for the curves of a page: what the supervisor of a job has kept, and what running
jobs use at this moment, which is measured while a page asks."""

from __future__ import annotations

import time

from outlive.core.units import seconds_or
from outlive.errors import OutliveError, invalid
from outlive.jobs import adoption, job_answer, lookup
from outlive.jobs.context import Context
from outlive.jobs.diagnosis import use
from outlive.parts.page.views import usage_samples
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.system.waiting import checkpoint

MOST_JOBS = 50  # of one call


def samples(ctx: Context, *, jobs: list[str]) -> dict[str, object]:
    """Return `samples`: of each of these jobs that runs on this machine what it uses now. Errors: invalid_argument."""
    if len(jobs) > MOST_JOBS or not all(isinstance(job, str) for job in jobs):
        raise invalid("jobs", f"jobs is an array of at most {MOST_JOBS} ids")
    by_job: dict[str, dict[str, int]] = {}
    for job_id in jobs:
        checkpoint()
        try:
            one = _sample(ctx, job_id)
        except (OutliveError, OSError):  # it was removed
            continue
        if one is not None:
            by_job[job_id] = one
    return {"samples": by_job}


def kept(ctx: Context, job_id: str) -> dict[str, object]:
    """Return `samples`: what the supervisor of a job has kept, from its start and, if it is over, to its end, each
    with the time in ms. None of a job that ended soon, or on another host. Errors: job_not_found."""
    with lookup.open_job(ctx, job_id) as job, Output(job) as output:
        inspection = adoption.inspect_and_adopt(ctx, job)
        state, taken = inspection.state, usage_samples.read(job)
        if taken:
            taken.insert(0, [0, 0, 0, 0])
        if taken and state.finished and state.usage is not None and state.duration_ms is not None:
            taken.append([state.duration_ms, state.usage.user_ms + state.usage.system_ms, taken[-1][2], output.end])
        samples = [_at(_began_ms(inspection) + elapsed_ms, *rest) for elapsed_ms, *rest in taken]
        return {"job_id": job.job_id, "samples": samples}


def taken(inspection: Inspection, job: JobDir) -> list[tuple[int, int]]:
    """Return where the output ended at each sample that the supervisor of a job has kept, and when, in ms."""
    began_ms = _began_ms(inspection)
    return [(end, began_ms + elapsed_ms) for elapsed_ms, _, _, end in usage_samples.read(job)]


def _began_ms(inspection: Inspection) -> int:
    return round(1000 * seconds_or(inspection.state.started_at, 0))


def _sample(ctx: Context, job_id: str) -> dict[str, int] | None:
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
            return _at(time.time() * 1000, cpu, used.memory_bytes or 0, output.end)


def _at(at_ms: float, cpu_ms: int, memory_bytes: int, end: int) -> dict[str, int]:
    return {"at": round(at_ms), "cpu": cpu_ms, "memory": memory_bytes, "end": end}
