"""End a job with everything it started, and delete its directory."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from contextlib import closing

from outlive import limits
from outlive.core.ids import short_id
from outlive.core.records import State
from outlive.core.units import counted
from outlive.errors import OutliveError, from_os
from outlive.jobs import acts, adoption, processes
from outlive.jobs.context import Context, Principal
from outlive.jobs.control_client import ControlClient, refused, unanswered
from outlive.jobs.diagnosis import other_machine
from outlive.jobs.starting import gate
from outlive.jobs.told import ownership
from outlive.launch import engines
from outlive.store import delete as store_delete
from outlive.store.deletions import REMOVED, Deletions
from outlive.store.inspection import handed_over
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.system import process, signals
from outlive.system.waiting import pause

_CLEAN_LOOKS = 2  # in a row that found nothing: a fork can slip past one
SURE = (signal.SIGTERM, signal.SIGKILL)  # the supervisor makes sure of the end; other signals are sent as they are


def kill(
    ctx: Context,
    job: JobDir,
    number: int = signal.SIGTERM,
    *,
    grace_ms: int = limits.KILL_GRACE_MS,
    wait_ms: int | None = None,
) -> Inspection:
    """Send a signal to a job; TERM is followed by KILL after `grace_ms`. Return what is true of the
    job then.

    If the signal can end the job, wait at most `wait_ms` for that (default: a second, for TERM and
    KILL also the grace). A job that has ended is left as it is. Errors: invalid_state if nothing
    can run, io_error.
    """
    inspection = adoption.inspect_before_kill(ctx, job)
    if inspection.state.state == "created" and not inspection.state.waits:
        inspection = _not_started(ctx, job, inspection, number)
    if inspection.state.state == "unknown" and not inspection.supervised:
        if not inspection.elsewhere and processes.known_to_kernel(inspection, job):
            acts.about_to(ctx, "kill", job.job_id, signal=signals.name_of(number))
            _directly(inspection, job, number, grace_ms)
            return adoption.inspect_and_adopt(ctx, job)
        raise OutliveError(
            "invalid_state",
            f"nothing is known to run: {inspection.damage or inspection.state.message}",
            hint="log and tail still read its output; remove deletes it.",
        )
    if inspection.state.finished and not may_have_left(inspection, job):
        return inspection
    acts.about_to(ctx, "kill", job.job_id, signal=signals.name_of(number))
    if wait_ms is None:
        wait_ms = wait_of(number, grace_ms)
    end(ctx, job, number, grace_ms, wait_ms / 1000)
    if inspection.unwritten:  # what its supervisor alone knew is gone with it
        return inspection
    after = adoption.inspect_and_adopt(ctx, job)
    # After a change of the lock the job has two supervisors, and each ends what is below itself
    if number in SURE and not after.elsewhere and not processes.survivors(after, job):
        _directly(after, job, signal.SIGKILL, 0)
    return after


def may_have_left(inspection: Inspection, job: JobDir) -> bool:
    """Return whether a job that has ended may have left processes that its supervisor can be asked to end."""
    if not inspection.supervised or not inspection.elsewhere:
        return inspection.supervised
    engine, record = engines.of_job(job, inspection.definition), handed_over.read(job)
    is_in_reach = record is not None and record.unreachable_since is None
    return engine is not None and engine.mirrors and is_in_reach


def _not_started(ctx: Context, job: JobDir, inspection: Inspection, number: int) -> Inspection:
    """Withdraw a job that a part holds back, or cancel it on its host. Return what is true of it then. Errors: invalid_state
    for a job that only waits for `start`."""
    held = gate.of(inspection.definition)
    if held is not None:
        acts.about_to(ctx, "kill", job.job_id, signal=signals.name_of(number))
        inspection = held.withdraw(ctx, job)
    if inspection.state.state == "created" and inspection.definition.host is not None:
        inspection = _cancelled(ctx, job, inspection, number)
    if inspection.state.state == "created":
        raise OutliveError("invalid_state", "a created job has no process", hint="remove deletes it.")
    return inspection


def wait_of(number: int, grace_ms: int) -> int:
    """Return for how long the end is waited for by default, in milliseconds."""
    return (grace_ms if number in SURE else 0) + limits.KILL_WAIT_EXTRA_MS


def _cancelled(ctx: Context, job: JobDir, inspection: Inspection, number: int) -> Inspection:
    """Cancel a job that waits for its start on another host, if the signal would end it. Return what
    is true of it then: it may have started meanwhile. Errors: io_error."""
    engine = engines.of_job(job, inspection.definition)
    if engine is None or not signals.ends(number):
        return inspection
    acts.about_to(ctx, "kill", job.job_id, signal=signals.name_of(number))
    return engine.cancelled(job, inspection, ownership.actor(ctx.caller, inspection.definition))


def end(ctx: Context, job: JobDir, number: int, grace_ms: int, wait_s: float, *, removing: bool = False) -> None:
    """Ask the supervisor to send a signal, and wait at most `wait_s` seconds for the end if the
    signal ends the job.

    The supervisor goes through with it even if this process is killed meanwhile. With `removing` it
    ends the job's notification command too, and syncs nothing. Errors: io_error.
    """
    if ctx.inbox is not None:
        ctx.inbox.killed.add(job.job_id)
    with closing(ControlClient(job, output=False)) as control:
        asked = {"op": "kill", "signal": number, "grace_ms": grace_ms, "removing": removing}
        deadline = time.monotonic() + control.patience_s
        while True:
            inspection = adoption.inspect_and_adopt(ctx, job)
            is_deaf = processes.stopped_supervisor(inspection) is not None
            asks = not is_deaf and control.request(asked | {"by": ownership.actor(ctx.caller, inspection.definition)})
            is_deaf = is_deaf or not (inspection.elsewhere or control.is_to_supervisor())
            answer = control.answer(deadline) if asks and not is_deaf else None
            if answer is not None and not answer["ok"]:
                raise refused(answer)
            if answer is not None:
                break
            inspection = adoption.inspect_and_adopt(ctx, job)
            if _is_over(inspection, job):  # it ended by itself meanwhile
                return
            if is_deaf or time.monotonic() >= deadline:
                if inspection.elsewhere:
                    raise unanswered(job)
                _directly(inspection, job, number, grace_ms)
                return
            control.pause(deadline)
        if signals.ends(number):
            _wait(ctx, job, control, time.monotonic() + wait_s)


def wait_until_over(ctx: Context, job: JobDir, until: float) -> Inspection:
    """Wait until a job has ended with all its processes, or until `until` (time.monotonic seconds)."""
    with closing(ControlClient(job, output=False)) as control:
        _wait(ctx, job, control, until)
    return adoption.inspect_and_adopt(ctx, job)


def _wait(ctx: Context, job: JobDir, control: ControlClient, until: float) -> None:
    while time.monotonic() < until:
        if _is_over(adoption.inspect_and_adopt(ctx, job), job):
            return
        # Only the closed connection tells of a descendant that dies after the command
        control.pause(min(until, time.monotonic() + limits.SWEEP_INTERVAL_S))


def _directly(inspection: Inspection, job: JobDir, number: int, grace_ms: int) -> None:
    """Send a signal to the processes of a job from here, because no supervisor does it: it is
    stopped, or its socket, its lock or its state were spoilt. KILL follows TERM as ever."""
    kill_at = time.monotonic() + (grace_ms / 1000 if number == signal.SIGTERM else 0)
    give_up_at = kill_at + limits.UNKILLABLE_S
    sent: set[int] = set()
    clean = 0
    while clean < _CLEAN_LOOKS and time.monotonic() < give_up_at:
        members = processes.known_to_kernel(inspection, job)
        clean = 0 if members else clean + 1
        now = signal.SIGKILL if number in SURE and time.monotonic() >= kill_at else number
        for member in members:
            if now == signal.SIGKILL or member.pid not in sent:
                process.send_signal(member.pid, member.start, now)
                if now == signal.SIGTERM:  # a stopped process could not act on it
                    process.send_signal(member.pid, member.start, signal.SIGCONT)
                sent.add(member.pid)
        if number not in SURE:
            return
        pause((), time.monotonic() + limits.SWEEP_INTERVAL_S)


def _is_over(inspection: Inspection, job: JobDir) -> bool:
    return inspection.state.finished and not processes.survivors(inspection, job)


def delete(ctx: Context, job: JobDir, *, ending: bool = False) -> tuple[State, int]:
    """Delete a job's directory. Return the state in which the job was deleted, and the bytes given
    back.

    Wait for a supervisor that is letting go of the job; with `ending`, also for one that is ending
    its processes. Errors: invalid_state while a process of the job runs, job_not_found if another
    call deleted it first, io_error.
    """
    until = time.monotonic() + limits.DELETE_S
    while True:
        inspection = adoption.inspect_and_adopt(ctx, job)
        if inspection.elsewhere:
            _given_up(ctx.caller, job, inspection)
        try:
            if not inspection.supervised:  # else the state may change until the supervisor lets go of the job
                return inspection.state, store_delete.delete(ctx.store, job, note=_note_of(ctx, inspection))
        except BlockingIOError:
            pass
        except FileNotFoundError as error:
            raise OutliveError("job_not_found", f"no job {job.job_id!r}: it was removed just now") from error
        except OSError as error:
            raise from_os(f"deleting {job.path}", error, on="store") from error
        alive = processes.survivors(inspection, job)
        if (alive and not ending) or time.monotonic() >= until:
            raise _not_deleted(job, len(alive))
        pause((), time.monotonic() + limits.SWEEP_INTERVAL_S)


def _note_of(ctx: Context, inspection: Inspection) -> Callable[[int], None] | None:
    """Return what writes down, before the job is gone, who deletes the job of another session, which is told
    (jobs/told/notices.py); None for other jobs."""
    definition, state = inspection.definition, inspection.state.state
    if definition.session is None or (ownership.session_of(ctx.caller) and ownership.is_own(ctx, definition)):
        return None

    def note(freed: int) -> None:
        with Deletions(ctx.store, ownership.actor(ctx.caller, definition)) as deletions:
            deletions.note(definition.job_id, definition.scope, REMOVED, freed, name=definition.name, state=state)

    return note


def _given_up(caller: Principal, job: JobDir, inspection: Inspection) -> None:
    """Have the engine of another host give a job up. Errors: invalid_state for a job that may still
    run on another machine."""
    if inspection.definition.host is not None:
        engine = engines.of_job(job, inspection.definition)
        if engine is not None:
            if inspection.state.state == "created":
                engine.cancelled(job, inspection, ownership.actor(caller, inspection.definition))
            engine.forget(job)
        return
    if not inspection.state.finished and inspection.state.state != "created":
        name = other_machine.machine_of(inspection)
        message = f"job {short_id(job.job_id)} cannot be deleted: its processes are on {name}, and may still run"
        hint = f"Repeat the call on {name}. If that machine is gone for good: rm -r {job.path}"
        raise OutliveError("invalid_state", message, hint=hint)


def _not_deleted(job: JobDir, alive: int) -> OutliveError:
    """Return the error of a job with `alive` processes, or with none but one of ours that holds it."""
    name = f"job {short_id(job.job_id)}"
    if alive:
        what = f"{counted(alive, 'process')} of it still {'runs' if alive == 1 else 'run'}"
        hint = "remove ends and deletes it with everything it started."
        return OutliveError("invalid_state", f"{name} cannot be deleted: {what}", hint=hint)
    return OutliveError(
        "invalid_state",
        f"{name} cannot be deleted: its supervisor, or the call that started it, has not let go of it",
        retryable=True,
        hint="Repeat the call. A process that is stopped (SIGSTOP) holds the job until it continues.",
    )
