"""Define a job without starting it, and start it later."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from typing import Any

from outlive import limits
from outlive.answers.job import Job
from outlive.answers.starting import Created, Started
from outlive.core.ids import new_id, short_id
from outlive.core.records import Definition
from outlive.errors import OutliveError, from_os
from outlive.jobs import acts, lookup
from outlive.jobs import definition as definition_module
from outlive.jobs.context import Context
from outlive.jobs.starting import gate, making
from outlive.jobs.starting.gate import Holding
from outlive.jobs.starting.plan import Plan
from outlive.jobs.starting.start_and_wait import StartCall
from outlive.store.inspection import handed_over
from outlive.store.job_dir import JobDir, Locks
from outlive.system import fault_points
from outlive.system.waiting import pause


def create(ctx: Context, **args: Any) -> Created:
    """Store a definition, which `start` runs later, once."""
    plan = definition_module.plan(ctx, new_id(), start_now=False, **args)
    acts.about_to_start(ctx, "create", plan)
    with closing(making.make(ctx, plan, live=False)) as new:
        return Created(
            job=Job(job_id=plan.definition.job_id, state="created"),
            short_id=short_id(plan.definition.job_id),
            name=plan.definition.name,
            created_at=plan.definition.created_at,
            stdout_log_path=new.dir.log_path(0),
            stderr_log_path=new.dir.log_path(1),
            hint="start runs it.",
        )


def start(ctx: Context, *, job: str, **args: Any) -> Started:
    """Start a created job, and answer as run does."""
    call = StartCall.taken_from(args)
    with lookup.open_job(ctx, job) as job_dir:
        locks = _take(job_dir)
        fault_points.at("start_taken")
        try:
            plan = _plan(ctx, job_dir)
            call.check(ctx, plan.definition)
            held = gate.of(plan.definition)
            if held is not None and not held.is_open(ctx, job_dir, plan.definition):
                return _asked(ctx, job_dir, plan, held, locks, call)
            awaits, sandbox = call.awaits, plan.definition.sandbox
            if awaits is not None or sandbox is not None:
                lookup.change_meta(
                    job_dir, lambda old: Definition.replace(old, awaits=awaits or old.awaits, sandbox=sandbox)
                )
            ctx.store.mark_live(job_dir.job_id)
            ctx.job_id = job_dir.job_id
            sock = making.hand_over(ctx, plan, job_dir, locks, created=True, awaited=call.waits_for_end)
            making.await_start(job_dir, sock, locks)
        except OutliveError as error:
            acts.never_started(ctx, job_dir.job_id, error)
            job_dir.unmark_live()
            if locks.are_given:
                locks.close()
                _let_go(job_dir)
            raise
        finally:
            locks.close()
        return call.answer(ctx, job_dir, sock)


def _take(job: JobDir) -> Locks:
    """Take the locks of a created job, so that only one caller starts it. Errors: invalid_state, io_error."""
    try:
        return Locks(job)
    except BlockingIOError:
        raise _not_created("running") from None
    except OSError as error:
        raise from_os(f"locking job {job.job_id}", error, on="store") from error


def _let_go(job: JobDir) -> None:
    """Wait until the supervisor that could not start the job has let go of it, for at most CONTROL_S: the caller may start
    the job again as soon as it has its answer."""
    deadline = time.monotonic() + limits.CONTROL_S
    with suppress(OSError):  # it was removed meanwhile
        while job.is_supervised() and time.monotonic() < deadline:
            pause((), time.monotonic() + limits.SWEEP_INTERVAL_S)


def _plan(ctx: Context, job: JobDir) -> Plan:
    state = job.read_state()
    if state is None or state.state != "created":
        raise _not_created(state.state if state else "unknown")
    if handed_over.read(job) is not None:  # it waits for its start on another host
        raise _not_created("running")
    plan = making.plan_of_created(ctx.caller, job)
    definition_module.require_sandbox(ctx.caller, plan.definition, "start")
    held = gate.of(plan.definition)
    if held is None:
        gate.require(ctx, plan, hold=True)
    elif not held.is_open(ctx, job, plan.definition):
        raise held.refusal(job)
    return plan


def _asked(ctx: Context, job: JobDir, plan: Plan, held: Holding, locks: Locks, call: StartCall) -> Started:
    """Wait until a job that create made may start, start it, and answer."""
    asked = plan.definition
    lookup.change_meta(job, lambda old: Definition.replace(old, kept=asked.kept, cwd=asked.cwd, cwd_id=asked.cwd_id))
    held.note_held(job, asked)
    ctx.store.mark_live(job.job_id)
    ctx.job_id = job.job_id
    holder = held.hold(job)
    locks.close()
    return call.start_held(ctx, plan, held, holder)


def _not_created(state: str) -> OutliveError:
    hint = "restart runs a finished job again, as a new one." if state != "running" else "It was started already."
    return OutliveError("invalid_state", f"only a created job can be started; this one is {state}", hint=hint)
