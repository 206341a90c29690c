"""Start or end a job that waits for approval, once the answer is there.

The process that made the job starts it when it is approved. If that process is gone, the process
that approves starts it, with its own environment; if that one dies too, the next look of a command
line. Imported only for jobs that have an approval.
"""

from __future__ import annotations

import socket
from contextlib import closing

from outlive.core.ids import short_id
from outlive.core.records import Definition, Ending
from outlive.errors import OutliveError, from_os
from outlive.jobs import acts, lookup
from outlive.jobs.context import Context, GateDecision
from outlive.jobs.starting import boundary, making
from outlive.jobs.starting.plan import Plan
from outlive.parts.approvals import answer_file, facts, question_record
from outlive.parts.approvals.person import is_person
from outlive.parts.policy.rules import ASK
from outlive.store import history
from outlive.store.inspection import unseen_end
from outlive.store.inspection.inspect import inspect_job
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir, Locks
from outlive.system import fault_points, paths


def start(ctx: Context, job: JobDir, plan: Plan | None = None) -> socket.socket | None:
    """Start an approved job, and return the socket on which its supervisor reports; None if another
    process has started it. Without `plan` it gets the environment of this process.

    Errors: launch_failed, io_error, invalid_argument.
    """
    try:
        locks = Locks(job)
    except BlockingIOError:
        return None
    except OSError as error:
        raise from_os(f"locking job {job.job_id}", error, on="store") from error
    try:
        state = job.read_state()
        if state is None or state.state != "created":
            return None
        definition = job.read_meta()
        refused = FORGOTTEN if plan is None and needs_asker(definition) else _moved(definition)
        if refused is None:
            plan = plan or making.plan_of_created(ctx.caller, job)
            refused = question_record.changed(question_record.of(plan.definition), plan.overrides)
        if plan is None or refused is not None:
            locks.close()
            _deny(ctx, job, refused)
            return None
        _renew(ctx, job, plan)
        if not history.recorded(job, history.APPROVED):
            given = answer_file.read(job) or answer_file.Decision()
            history.record(job, history.APPROVED, by=given.by, reason=given.reason)
        ctx.store.mark_live(job.job_id)
        fault_points.at("approve_locked")
        ctx.decision = GateDecision(ASK, question_record.of(plan.definition).rule)
        sock = making.hand_over(ctx, plan, job, locks)
        making.await_start(job, sock, locks)
        return sock
    except OutliveError as error:
        acts.never_started(ctx, job.job_id, error)
        raise
    finally:
        locks.close()
        if plan is not None:
            plan.close()


def _renew(ctx: Context, job: JobDir, plan: Plan) -> None:
    """Have the job kept from what was hidden or protected while it waited. Errors: config_error, io_error."""
    sandbox = boundary.renewed(ctx.caller, plan.definition)
    if sandbox is not None:
        plan.definition = Definition.replace(plan.definition, sandbox=sandbox)
        lookup.change_meta(job, lambda old: Definition.replace(old, sandbox=sandbox))


def _moved(definition: Definition) -> str | None:
    """Return a sentence if another directory stands where the job was to run, or none does."""
    return None if definition.cwd_id is None else paths.change(definition.cwd, definition.cwd_id)


def start_unheard(ctx: Context, job: JobDir, plan: Plan | None = None) -> None:
    """Do what `start` does, for a caller that does not wait for the end."""
    sock = start(ctx, job, plan)
    if sock is not None:
        sock.close()


# Masked values and a caller's own stdin are in no file
FORGOTTEN = "only the process that made the job knew its masked variables or its input, and that process has ended"


def needs_asker(definition: Definition) -> bool:
    return bool(definition.masked_env) or definition.stdin == "caller"


def settle(ctx: Context, job: JobDir) -> Inspection:
    """Do what the answer about a `created` job asks for, if the process that had to do it is gone.
    Return what is true of the job then.

    What was refused or has expired ends here. What was approved is started by a command line only,
    because its environment is a person's.
    """
    inspection = inspect_job(job)
    if inspection.state.state != "created" or inspection.supervised:
        return inspection
    try:
        given = answer_file.read_or_expire(job, inspection.definition)
        if given is None:
            return inspection
        if given.state != answer_file.APPROVED:
            _end(job, given)
        elif ctx.face == "cli" and not answer_file.is_held(job) and is_person(ctx.store):
            start_unheard(ctx, job)
    except (OSError, OutliveError):  # a read-only store, or no process can be made: the next look tries again
        return inspection
    return inspect_job(job)


def _deny(ctx: Context, job: JobDir, reason: str | None) -> None:
    """End a job that a person approved and that may not start."""
    given = answer_file.Decision(state=answer_file.DENIED, reason=reason)
    _end(job, given)
    acts.never_started(ctx, job.job_id, OutliveError("denied", _message(given)))


def _end(job: JobDir, given: answer_file.Decision) -> None:
    """Write down the end of a job that never ran. Nothing of it runs, its notification commands
    included: they were refused with it."""
    with closing(Locks(job)):
        state = job.read_state()
        if state is None or state.state != "created":
            return
        by, withdrawn = given.by, given.state == answer_file.WITHDRAWN
        reason, ending = ("kill", Ending(cause="kill", by=by)) if withdrawn else ("denied", None)
        ended = unseen_end.failed(job.read_meta(), state, reason, _message(given), ending)
        history.record(job, history.DENIED, by=by, reason=given.reason, state=given.state)
        history.record(job, history.FINISHED, **history.outcome_of(ended))
        job.write_state(ended)
        job.release_reserve()
        job.remove_io()
        job.unmark_live()


def _message(given: answer_file.Decision) -> str:
    by = f" by {given.by}" if given.by else ""
    why = f": {given.reason}" if given.reason else ""
    said = {
        answer_file.EXPIRED: "it was not approved in time",
        answer_file.WITHDRAWN: f"it was withdrawn{by} before it was approved",
    }
    return said.get(given.state, f"it was denied{by}{why}") + "; it never ran"


def hint(job: JobDir, inspection: Inspection) -> str | None:
    """Return what to do about a job that has not started for want of an approval."""
    if inspection.state.state != "created":
        return None
    if answer_file.read(job) is not None:
        return "It is approved and about to start."
    name, about = short_id(job.job_id), question_record.of(inspection.definition)
    why = f": {about.reason}" if about.reason else ""
    long = "" if facts.fits_a_form(inspection.definition) else " It is too long for a form."
    return (
        f"It waits for the user's approval ({about.rule}{why}); nothing has run.{long} Tell the user: "
        f"`outlive approve {name}` or `outlive deny {name}` in a terminal. wait answers when it has ended or was denied."
    )
