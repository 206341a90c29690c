"""Delete jobs: `remove` ends one first that still runs, `clear` takes those that have ended."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from outlive import limits
from outlive.answers.ending import ALL, Deleted, DeletedJob, EndedJob
from outlive.errors import ENDED_JOBS, OutliveError
from outlive.jobs import acts, adoption, ending, lookup, several
from outlive.jobs.context import Context
from outlive.store.inspection import inspect
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir

_FOR_GOOD = "a deletion cannot be taken back"


def remove(
    ctx: Context,
    *,
    job: Sequence[str] = (),
    tags: Sequence[str] = (),
    grace_ms: int = limits.KILL_GRACE_MS,
    **of_parts: object,
) -> Deleted:
    """Kill the jobs, wait until all their processes are gone, and delete them. A job that others of them need is ended
    after these."""
    exactly = partial(lookup.open_exactly, ctx, verb="remove", why=_FOR_GOOD)
    with several.opened(ctx, job, tags, of_parts, exactly, lookup.job_ids(ctx.caller)) as jobs:
        for one in jobs:
            acts.about_to(ctx, "remove", one.job_id)
        told = {one.job_id: inspect.inspect_job(one).state.message for one in jobs}
        if len(jobs) == 1:
            return _remove(ctx, jobs[0], grace_ms, told[jobs[0].job_id])
        layers = several.in_order(jobs)
        for layer in layers:
            supervised = [one for one in layer if adoption.inspect_before_kill(ctx, one).supervised]
            for one in supervised:  # else each would take its grace after that of the one before
                ending.end(ctx, one, signal.SIGTERM, grace_ms, 0)
            until = time.monotonic() + (grace_ms + limits.KILL_WAIT_EXTRA_MS) / 1000
            for one in supervised if layer is not layers[-1] else ():
                ending.wait_until_over(ctx, one, until)
        ordered = [one for layer in layers for one in layer]
        return deleted(ctx, ordered, lambda one: _remove(ctx, one, grace_ms, told[one.job_id]))


def _remove(ctx: Context, job_dir: JobDir, grace_ms: int, told: str | None) -> Deleted:
    """Remove a job. `told`: its message before this call."""
    inspection = adoption.inspect_before_kill(ctx, job_dir)
    if inspection.supervised:
        wait_s = (grace_ms + limits.KILL_WAIT_EXTRA_MS) / 1000
        ending.end(ctx, job_dir, signal.SIGTERM, grace_ms, wait_s, removing=True)
    state, freed = ending.delete(ctx, job_dir, ending=True)
    if state.message and state.message != told:  # as of what it left in its workspace: it is told here, or nowhere
        ctx.warnings.append(f"Job {job_dir.job_id}: {state.message}.")
    return Deleted(job=DeletedJob(job_id=job_dir.job_id, state=state.state), freed_bytes=freed)


def clear(ctx: Context, *, job: str) -> Deleted:
    """Delete the directory of a finished job, with its output, or those of all of the caller's own."""
    if job == ALL:
        return deleted(ctx, several.ended(ctx), lambda one: _delete(ctx, one))
    with lookup.open_exactly(ctx, job, "clear", _FOR_GOOD) as job_dir:
        inspection = adoption.inspect_and_adopt(ctx, job_dir)
        if not inspection.state.finished:
            raise OutliveError(
                "invalid_state",
                f"the job is {inspection.state.state}; clear deletes finished jobs",
                hint="remove ends it first.",
            )
        return _delete(ctx, job_dir)


def _delete(ctx: Context, job_dir: JobDir) -> Deleted:
    acts.about_to(ctx, "clear", job_dir.job_id)
    state, freed = ending.delete(ctx, job_dir)
    return Deleted(job=DeletedJob(job_id=job_dir.job_id, state=state.state), freed_bytes=freed)


def deleted(ctx: Context, jobs: Iterable[JobDir], delete: Callable[[JobDir], Deleted]) -> Deleted:
    """Delete each of several jobs with `delete`; return the answer about all of them, with the error of each that could not
    be deleted. Errors: those of `delete` if none could be; job_not_found if there is none."""
    answer: Deleted | None = None
    told: list[EndedJob] = []
    failed: OutliveError | None = None
    for job in jobs:
        before = inspect.inspect_job(job)
        name = before.definition.name
        try:
            one = delete(job)
        except OutliveError as error:
            told.append(EndedJob(job_id=job.job_id, name=name, state=_state_now(ctx, job, before), error=error.message))
            failed = error
            continue
        told.append(EndedJob(job_id=job.job_id, name=name, state=one.job.state))
        if answer is None:
            answer = one
        else:
            answer.freed_bytes += one.freed_bytes
    if answer is None:
        raise failed or OutliveError("job_not_found", "no job of yours has ended", hint=ENDED_JOBS)
    answer.jobs = told
    return answer


def _state_now(ctx: Context, job: JobDir, before: Inspection) -> str:
    """Return the state of a job that could not be deleted; its last one if another call deleted it first."""
    try:
        return adoption.inspect_and_adopt(ctx, job).state.state
    except OutliveError:
        return before.state.state
