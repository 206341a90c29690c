"""Inspect a job; give it a new supervisor if its supervisor and its guardian have both died."""

from __future__ import annotations

import time

from outlive.jobs.context import Context, Principal
from outlive.jobs.diagnosis import deleted
from outlive.jobs.processes import survivors
from outlive.jobs.starting import gate
from outlive.launch import engines
from outlive.store.inspection import completion, handed_over, inspect, unseen_end
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import LOCK, JobDir

_DELETED_TRIES, _DELETED_TRY_S = 20, 0.01


def inspect_and_adopt(ctx: Context, job: JobDir) -> Inspection:
    """Return what is true of a job; a job that runs without a supervisor is given a new one.

    Errors: job_not_found if the job's directory was deleted since it was opened.
    """
    inspection = inspect.inspect_job(job)
    definition = inspection.definition
    if (
        gate.is_held(definition)
        and inspection.state.state == "created"
        and (definition.host is None or handed_over.read(job) is None)  # else an engine has it
    ):
        held = gate.of(definition)
        inspection = inspection if held is None else held.settle(ctx, job)
    if inspection.elsewhere:
        return _elsewhere(ctx.caller, job, inspection)
    if (
        inspection.damage is not None or inspection.just_ended or inspection.orphaned
    ):  # a directory that is being deleted looks like this
        require_in_place(job)
    if inspection.orphaned or _is_end_unreported(job, inspection):
        _adopt(ctx.caller, job, inspection)
        return inspect.inspect_job(job)
    return inspect.inspect_job(job) if _complete_end(job, inspection) else inspection


def _adopt(caller: Principal, job: JobDir, inspection: Inspection, *, asked: bool = False) -> None:
    from outlive.jobs.starting import new_supervisor  # late: 6 ms, and few pairs are killed as a whole

    new_supervisor.adopt(caller, job, inspection, asked=asked)


def _complete_end(job: JobDir, inspection: Inspection) -> bool:
    """Complete the end of a job whose supervisor and guardian died when its outcome was visible; return whether there was
    anything to do."""
    if not inspection.state.finished or inspection.supervised:
        return False
    is_sandboxed, is_marked = inspection.definition.sandbox is not None, job.is_marked_live()
    if not is_marked and not (is_sandboxed and job.is_marked_left()):
        return False
    # What is left of a job in a sandbox still changes its workspace, which is looked at when none is
    is_left = is_sandboxed and bool(survivors(inspection, job))
    if is_left and not is_marked:
        return False
    unseen_end.complete_end(job, inspection.definition, inspection.state, is_left=is_left)
    return True


def _elsewhere(caller: Principal, job: JobDir, inspection: Inspection) -> Inspection:
    """Return what is true of a job whose processes are on another machine. It is never adopted
    here: its command could not be looked after."""
    if inspection.definition.host is None:
        return inspection
    inspection = engines.resumed(caller, job, inspection)
    # Where no mirror does it, as for a job that never ran, a process here tells the sinks, and looks after nothing else
    engine = engines.of_job(job, inspection.definition)
    if engine is not None and engine.mirrors:
        return inspection
    if _is_end_unreported(job, inspection):
        _adopt(caller, job, inspection)
    else:
        _complete_end(job, inspection)
    return inspection


def require_in_place(job: JobDir) -> None:
    """Raise job_not_found if the job's directory was deleted since it was opened, or is being deleted now: of its files
    the lock may be gone before the directory is."""
    for _ in range(_DELETED_TRIES):
        if not job.is_in_place():
            raise deleted.meanwhile(job)
        if job.has(LOCK):  # which is there before a job is seen, and goes only with its directory
            return
        time.sleep(_DELETED_TRY_S)


def _is_end_unreported(job: JobDir, inspection: Inspection) -> bool:
    """Return whether the job has ended, its end or its last output is to be told, and every process
    that had to is dead."""
    if inspection.just_ended:
        return completion.is_reported(inspection.definition)
    return (
        inspection.state.finished
        and not inspection.supervised
        and completion.is_end_unreported(job, inspection.definition)
    )


def inspect_before_kill(ctx: Context, job: JobDir) -> Inspection:
    """Inspect a job that is going to be killed.

    What a finished job left running is given a supervisor if it has none.
    """
    inspection = inspect_and_adopt(ctx, job)
    if inspection.elsewhere:
        return inspection
    if inspection.state.finished and not inspection.supervised and survivors(inspection, job):
        _adopt(ctx.caller, job, inspection, asked=True)
        inspection = inspect.inspect_job(job)
    return inspection
