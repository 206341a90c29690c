"""Give a job a new supervisor, whose supervisor and guardian have both died. It goes on with the command, or waits
anew for the start."""

from __future__ import annotations

import os
from contextlib import ExitStack, closing

from outlive.core.records import EXEC, Definition, Identity, Notification
from outlive.errors import OutliveError, from_os
from outlive.jobs.context import Context, Principal
from outlive.jobs.definition import masked_lines
from outlive.jobs.starting import boundary, gate, making
from outlive.launch import configured
from outlive.store.inspection import adoptions, unseen_end
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir, Locks
from outlive.supervisor.job_fds import take_hold
from outlive.supervisor.request import Request
from outlive.system import fault_points, process, tree

_FORGOTTEN = "only they knew its masked variables or its input"


def adopt(caller: Principal, job: JobDir, inspection: Inspection, *, asked: bool = False) -> None:
    """Start a supervisor that goes on with the job, or only tells its sinks of an end that no
    process saw. The job is given up instead if too many supervisors in a row died of that, unless
    the caller `asked` for one. A caller that may not start jobs leaves a job alone that waits for its start."""
    if inspection.state.waits and not _may_start(caller, inspection.definition):
        return
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
            unseen_end.give_up(job, inspection.definition, inspection.state, adoptions.given_up(job))
            return
        adoptions.record(job, before + 1)
        try:
            if inspection.state.waits:
                _have_wait(caller, job, inspection, locks)
            else:
                _give_to_adopter(caller, job, inspection, locks, bare=before >= adoptions.MOST)
        except OSError:  # none was started, for want of processes or memory
            adoptions.record(job, before)
            raise
    except OSError as error:
        raise from_os(f"starting a new supervisor for job {job.job_id}", error, on="process") from error
    finally:
        locks.close()


def _give_to_adopter(caller: Principal, job: JobDir, inspection: Inspection, locks: Locks, *, bare: bool) -> None:
    """Hand the job to a new supervisor. `bare`: without what is to be reported of it and when it
    is to end, which may have ended the ones before. Errors: OSError."""
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
        root=caller.store.path,
        job_id=job.job_id,
        definition=definition,
        command=command,
        environment=boundary.inherited(inspection.definition, caller.env),
        **configured.for_request(caller, definition),
        masked=_masked(inspection, command),
    )
    with ExitStack() as stack:
        # Taken first: the command may end while its new supervisor is still being started
        held = take_hold(job, command, pty=inspection.definition.pty)
        for fd in held.values():
            stack.callback(os.close, fd)
        _send(caller, request, locks, held)


def _send(caller: Principal, request: Request, locks: Locks, held: dict[str, int]) -> None:
    """Errors: OSError."""
    with making.send(caller.launcher, request, locks, held):
        # No process waits for it: the message itself holds the locks from here on, so the next
        # reader sees them held
        fault_points.at("adopt_sent")


def _may_start(caller: Principal, definition: Definition) -> bool:
    """Return whether the caller may start this job, which gets its environment then."""
    if not caller.rights.allows(EXEC):
        return False
    try:
        boundary.require(caller, definition, "start")
    except OutliveError:
        return False
    return True


def _have_wait(caller: Principal, job: JobDir, inspection: Inspection, locks: Locks) -> None:
    """Give a job to a supervisor that waits anew for its start, or end it if it cannot be started any more: masked values
    and a caller's own stdin are in no file. Errors: OSError."""
    definition = inspection.definition
    if definition.masked_env or definition.stdin == "caller":
        _end(job, inspection, _FORGOTTEN)
        return
    try:
        plan = making.plan_of_created(caller, job)
        # Its env files may have other variables than were decided about
        if definition.env_files and not gate.is_held(definition):
            gate.require(Context(caller), plan, hold=False)
    except OutliveError as error:
        _end(job, inspection, error.message)
        return
    with closing(plan):
        _send(caller, making.request_of(caller, plan), locks, plan.files)


def _end(job: JobDir, inspection: Inspection, why: str) -> None:
    """Write down that a job never ran, which waited for its start. Its locks are held."""
    message = f"the processes that waited with it for its start were killed, and it cannot be started anew: {why}"
    unseen_end.end_never_ran(job, inspection.definition, inspection.state, message)


def _masked(inspection: Inspection, command: Identity | None) -> list[str]:
    """Return what is masked in the output of a job whose supervisors are dead, from the environment
    of its command: nothing else knows the values. Without all that were given, later output is not
    shown."""
    if not inspection.definition.mask or command is None:
        return []
    entries = [os.fsdecode(entry).partition("=") for entry in tree.environment(command.pid)]
    env = {name: value for name, _, value in entries}
    # The number may be another process's by now, and a program may write over its environment
    if not process.is_same(command) or not env.keys() >= set(inspection.definition.masked_env):
        return []
    return masked_lines(inspection.definition.mask, env)
