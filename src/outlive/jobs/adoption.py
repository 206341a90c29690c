"""Inspect a job; give it a new supervisor if its supervisor and its guardian have both died."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack

from outlive.core.records import Definition, Notification
from outlive.errors import from_os
from outlive.jobs.processes import survivors
from outlive.store.inspection import completion, engine_record, inspect
from outlive.store.job_dir import JobDir, Locks
from outlive.system import fault_points, fds, process, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.core.records import Identity
    from outlive.jobs.context import Context
    from outlive.store.inspection.inspect import Inspection

_DELETED_TRIES, _DELETED_TRY_S = 20, 0.01


def inspect_and_adopt(ctx: Context, job: JobDir) -> Inspection:
    """Return what is true of a job; a job that runs without a supervisor is given a new one.

    Errors: job_not_found if the job's directory was deleted since it was opened.
    """
    inspection = inspect.inspect_job(ctx.store, job)
    if (
        inspection.definition.approval is not None
        and inspection.state.state == "created"
        and not _is_handed_over(inspection, job)
    ):
        from outlive.jobs.permission import pending  # late: few jobs are asked about

        inspection = pending.settle(ctx, job)
    if inspection.elsewhere:
        return _elsewhere(ctx, job, inspection)
    if (
        inspection.damage is not None or inspection.just_ended or inspection.orphaned
    ):  # a directory that is being deleted looks like this
        require_in_place(job)
    if inspection.orphaned or _end_untold(ctx, job, inspection):
        _adopt(ctx, job, inspection)
        inspection = inspect.inspect_job(ctx.store, job)
    else:
        _complete_end(ctx, job, inspection)
    return inspection


def _complete_end(ctx: Context, job: JobDir, inspection: Inspection) -> None:
    """Complete the end of a job whose supervisor and guardian died when its outcome was visible."""
    if inspection.state.finished and not inspection.supervised and ctx.store.is_marked_live(job.job_id):
        from outlive.store.inspection import unseen_end  # rare

        unseen_end.complete_end(ctx.store, job, inspection.state)


def _is_handed_over(inspection: Inspection, job: JobDir) -> bool:
    """Return whether the engine of another host has the job."""
    if inspection.definition.host is None:
        return False
    return engine_record.read(job) is not None


def _elsewhere(ctx: Context, job: JobDir, inspection: Inspection) -> Inspection:
    """Return what is true of a job whose processes are on another machine. It is never adopted
    here: its command could not be looked after."""
    if inspection.definition.host is None:
        return inspection
    from outlive.hosts import engines  # late: most jobs run on this machine

    inspection = engines.resumed(ctx, job, inspection)
    # Where no mirror does it, a process here tells the sinks, and looks after nothing else
    if not engines.has_teller(job, inspection.definition):
        if _end_untold(ctx, job, inspection):
            _adopt(ctx, job, inspection)
        else:
            _complete_end(ctx, job, inspection)
    return inspection


def require_in_place(job: JobDir) -> None:
    """Raise job_not_found if the job's directory was deleted since it was opened, or is being deleted now: of its files
    the lock may be gone before the directory is."""
    for _ in range(_DELETED_TRIES):
        if not job.is_in_place():
            from outlive.jobs.diagnosis import deleted  # late: few jobs are removed while a call is at work on them

            raise deleted.meanwhile(job)
        if job.has_lock():
            return
        time.sleep(_DELETED_TRY_S)


def _end_untold(ctx: Context, job: JobDir, inspection: Inspection) -> bool:
    """Return whether the job has ended, its end or its last output is to be told, and every process
    that had to is dead."""
    if inspection.just_ended:
        return completion.is_told(inspection.definition)
    return (
        inspection.state.finished
        and not inspection.supervised
        and completion.is_end_untold(ctx.store, job, inspection.definition)
    )


def inspect_before_kill(ctx: Context, job: JobDir) -> Inspection:
    """Inspect a job that is going to be killed.

    What a finished job left running is given a supervisor if it has none.
    """
    inspection = inspect_and_adopt(ctx, job)
    if inspection.elsewhere:
        return inspection
    if inspection.state.finished and not inspection.supervised and survivors(inspection, job):
        _adopt(ctx, job, inspection, asked=True)
        inspection = inspect.inspect_job(ctx.store, job)
    return inspection


def _adopt(ctx: Context, job: JobDir, inspection: Inspection, *, asked: bool = False) -> None:
    """Start a supervisor that goes on with the job, or only tells its sinks of an end that no
    process saw. The job is given up instead if too many supervisors in a row died of that, unless
    the caller `asked` for one."""
    from outlive.store.inspection import adoptions, unseen_end  # rare

    try:
        locks = Locks(job)
    except OSError:
        return  # another reader was faster, or the store is read-only and can still be read
    # The locks are closed whatever fails: while this process holds them, it passes for the job's
    # supervisor
    try:
        fault_points.at("adopt_locked")
        before = adoptions.count(job)
        if not asked and before >= adoptions.MOST:
            unseen_end.give_up(ctx.store, job, inspection.definition, inspection.state, adoptions.given_up(job))
            return
        adoptions.record(job, before + 1)
        try:
            _give_to_adopter(ctx, job, inspection, locks, bare=before >= adoptions.MOST)
        except OSError:  # none was started, for want of processes or memory
            adoptions.record(job, before)
            raise
    except OSError as error:
        raise from_os(f"starting a new supervisor for job {job.job_id}", error, on="process") from error
    finally:
        locks.close()


def _inherited(ctx: Context, definition: Definition) -> dict[str, str]:
    if definition.sandbox is None:
        return ctx.env
    from outlive.jobs.permission import boundary

    return boundary.inherited(definition, ctx.env)


def _give_to_adopter(ctx: Context, job: JobDir, inspection: Inspection, locks: Locks, *, bare: bool) -> None:
    """Hand the job to a new supervisor. `bare`: without what is to be reported of it and when it
    is to end, which may have ended the ones before. Errors: OSError."""
    # Rare, and its modules cost a command line 3 ms
    from outlive.supervisor.job_fds import take_hold
    from outlive.supervisor.request import Request, of_caller

    command = inspection.state.identity
    if command is None and not inspection.state.finished:
        command = tree.oldest_with_cookie(job.job_id)
    definition = inspection.definition
    if bare:
        definition = Definition.replace(
            definition, notification=Notification(), timeout_ms=0, idle_timeout_ms=0, progress_every_ms=0
        )
    request = Request(
        mode="adopt",
        root=ctx.store.path,
        job_id=job.job_id,
        definition=definition,
        command=command,
        environment=_inherited(ctx, inspection.definition),
        **of_caller(ctx, inspection.definition),
        masked=_masked(inspection, command),
    )
    with ExitStack() as stack:
        # Taken first: the command may end while its new supervisor is still being started
        held = take_hold(job, command, pty=inspection.definition.pty)
        for fd in held.values():
            stack.callback(os.close, fd)
        here, there = fds.pair()
        stack.callback(here.close)
        stack.callback(there.close)
        memory = request.to_file()
        stack.callback(os.close, memory)
        files = {"request": memory, "lock0": locks.fds[0], "lock1": locks.fds[1], "waiter": there.fileno(), **held}
        # No process waits for it: the message itself holds the locks from here on, so the next
        # reader sees them held
        ctx.launcher.send(files)
        fault_points.at("adopt_sent")


def _masked(inspection: Inspection, command: Identity | None) -> list[str]:
    """Return what is masked in the output of a job whose supervisors are dead, from the environment
    of its command: nothing else knows the values. Without all that were given, later output is not
    shown."""
    if not inspection.definition.mask or command is None:
        return []
    from outlive.jobs.definition import masked_lines

    try:
        with open(f"/proc/{command.pid}/environ", "rb") as file:
            entries = [os.fsdecode(entry).partition("=") for entry in file.read().split(b"\0")]
    except OSError:
        return []
    env = {name: value for name, _, value in entries}
    # The number may be another process's by now, and a program may write over its environment
    if not process.is_same(command) or not env.keys() >= set(inspection.definition.masked_env):
        return []
    return masked_lines(inspection.definition.mask, env)
