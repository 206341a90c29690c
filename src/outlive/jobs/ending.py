"""End a job with everything it started, and delete its directory."""

from __future__ import annotations

import time

from outlive import limits
from outlive.core.ids import short_id
from outlive.errors import OutliveError, from_os
from outlive.jobs import adoption, processes
from outlive.jobs.control_client import ControlClient, refused, unanswered
from outlive.jobs.waiting import Pause
from outlive.system import signals
from outlive.system.signals import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir

SURE = (signal.SIGTERM, signal.SIGKILL)  # the supervisor makes sure of the end; other signals are sent as they are


def kill(
    ctx: Context,
    job: JobDir,
    number: int = signal.SIGTERM,
    *,
    grace_ms: int = limits.KILL_GRACE_MS,
    wait_ms: int | None = None,
) -> Waiting[Inspection]:
    """Send a signal to a job; TERM is followed by KILL after `grace_ms`. Return what is true of the
    job then.

    If the signal can end the job, wait at most `wait_ms` for that (default: a second, for TERM and
    KILL also the grace). A job that has ended is left as it is. Errors: invalid_state if nothing
    can run, io_error.
    """
    found = adoption.inspect_before_kill(ctx, job)
    if found.state.state == "created" and found.definition.approval is not None:
        from outlive.jobs.permission import approval  # late: few jobs are asked about

        found = yield from approval.withdraw(ctx, job)
    if found.state.state == "created" and found.definition.host is not None:
        found = yield from _cancelled(ctx, job, found, number)
    if found.state.state == "created":
        raise OutliveError("invalid_state", "a created job has no process", hint="remove deletes it.")
    if found.state.state == "unknown" and not found.supervised:
        raise OutliveError(
            "invalid_state",
            f"nothing is known to run: {found.damage or found.state.message}",
            hint="log and tail still read its output; remove deletes it.",
        )
    if found.state.finished and (not found.supervised or found.elsewhere):
        return found
    ctx.note("kill", job.job_id, signal=signals.name_of(number))
    if wait_ms is None:
        wait_ms = (grace_ms if number in SURE else 0) + limits.KILL_WAIT_EXTRA_MS
    yield from end(ctx, job, number, grace_ms, wait_ms / 1000)
    return adoption.inspect_and_adopt(ctx, job)


def _cancelled(ctx: Context, job: JobDir, found: Inspection, number: int) -> Waiting[Inspection]:
    """Cancel a job that waits for its start on another host, if the signal would end it. Return what
    is true of it then: it may have started meanwhile. Errors: io_error."""
    from outlive.hosts import engines  # late: most jobs run on this machine

    engine = engines.of_job(job, found.definition)
    if engine is None or not signals.ends(number):
        return found
    ctx.note("kill", job.job_id, signal=signals.name_of(number))
    after: Inspection = yield from engine.cancelled(ctx, job, found)
    return after


def end(
    ctx: Context, job: JobDir, number: int, grace_ms: int, wait_s: float, *, removing: bool = False
) -> Waiting[None]:
    """Ask the supervisor to send a signal, and wait at most `wait_s` seconds for the end if the
    signal ends the job.

    The supervisor goes through with it even if this process is killed meanwhile. With `removing` it
    ends the job's notification command too, and syncs nothing. Errors: io_error.
    """
    if ctx.inbox is not None:
        ctx.inbox.killed.add(job.job_id)
    control = ControlClient(job, output=False)
    try:
        asked = {"op": "kill", "signal": number, "grace_ms": grace_ms, "by": ctx.owner, "removing": removing}
        deadline = time.monotonic() + control.patience_s
        while True:
            answer = (yield from control.answer(deadline)) if control.request(asked) else None
            if answer is not None and not answer["ok"]:
                raise refused(answer)
            if answer is not None:
                break
            if _is_over(adoption.inspect_and_adopt(ctx, job), job):  # it ended by itself meanwhile
                return
            if time.monotonic() >= deadline:
                raise unanswered(job)
            yield from control.pause(deadline)
        until = time.monotonic() + wait_s
        while signals.ends(number) and time.monotonic() < until:
            if _is_over(adoption.inspect_and_adopt(ctx, job), job):
                return
            # Only the closed connection tells of a descendant that dies after the command
            yield from control.pause(min(until, time.monotonic() + limits.SWEEP_INTERVAL_S))
    finally:
        control.close()


def _is_over(found: Inspection, job: JobDir) -> bool:
    return found.state.finished and not processes.survivors(found, job)


def delete(ctx: Context, job: JobDir, *, ending: bool = False) -> Waiting[tuple[str, int]]:
    """Delete a job's directory. Return the state in which the job was deleted, and the bytes given
    back.

    Wait for a supervisor that is letting go of the job; with `ending`, also for one that is ending
    its processes. Errors: invalid_state while a process of the job runs, job_not_found if another
    call deleted it first, io_error.
    """
    from outlive.store.cleanup import (
        delete as store_delete,  # late: it imports contextlib, which a call that only kills does without
    )

    until = time.monotonic() + limits.DELETE_S
    while True:
        found = adoption.inspect_and_adopt(ctx, job)
        if found.elsewhere:
            yield from _given_up(ctx, job, found)
        try:
            if not found.supervised:  # else the state may change until the supervisor lets go of the job
                return found.state.state, store_delete.delete(ctx.store, job)
        except BlockingIOError:
            pass
        except FileNotFoundError as error:
            raise OutliveError("job_not_found", f"no job {job.job_id!r}: it was removed just now") from error
        except OSError as error:
            raise from_os(f"deleting {job.path}", error, on="store") from error
        alive = processes.survivors(found, job)
        if (alive and not ending) or time.monotonic() >= until:
            raise _not_deleted(job, len(alive))
        yield Pause((), time.monotonic() + limits.SWEEP_INTERVAL_S)


def _given_up(ctx: Context, job: JobDir, found: Inspection) -> Waiting[None]:
    """Have the engine of another host give a job up. Errors: invalid_state for a job that may still
    run on another machine."""
    if found.definition.host is not None:
        from outlive.hosts import engines

        engine = engines.of_job(job, found.definition)
        if engine is not None:
            if found.state.state == "created":
                yield from engine.cancelled(ctx, job, found)
            engine.forget(job)
        return
    if not found.state.finished and found.state.state != "created":
        from outlive.jobs.diagnosis import elsewhere  # late: most jobs are on this machine

        name = elsewhere.machine_of(found)
        message = f"job {short_id(job.job_id)} cannot be deleted: its processes are on {name}, and may still run"
        hint = f"Repeat the call on {name}. If that machine is gone for good: rm -r {job.path}"
        raise OutliveError("invalid_state", message, hint=hint)


def _not_deleted(job: JobDir, alive: int) -> OutliveError:
    """Return the error of a job with `alive` processes, or with none but one of ours that holds it."""
    name = f"job {short_id(job.job_id)}"
    if alive:
        what = "1 process of it still runs" if alive == 1 else f"{alive} processes of it still run"
        hint = "remove ends and deletes it with everything it started."
        return OutliveError("invalid_state", f"{name} cannot be deleted: {what}", hint=hint)
    return OutliveError(
        "invalid_state",
        f"{name} cannot be deleted: its supervisor, or the call that started it, has not let go of it",
        retryable=True,
        hint="Repeat the call. A process that is stopped (SIGSTOP) holds the job until it continues.",
    )
