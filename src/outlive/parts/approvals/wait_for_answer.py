"""Wait for a person's approval of a job, take the answer, or withdraw the job.

A pending job is `created`. Its directory holds what is asked, and later the answer
(answer_file.py), so that nothing is lost if the client, the server or the machine goes. What the
answer leads to is in after_answer.py. Imported only for jobs that have an approval.
"""

from __future__ import annotations

import os
import socket
import time
from functools import partial

from outlive.core.base_directories import state_directory
from outlive.core.ids import short_id
from outlive.core.records import Definition
from outlive.core.units import timestamp
from outlive.errors import OutliveError, from_os
from outlive.jobs import acts, adoption, lookup
from outlive.jobs.context import Context
from outlive.jobs.starting.plan import Plan
from outlive.jobs.told import ownership
from outlive.parts.approvals import after_answer, answer_file, question_record
from outlive.parts.approvals.person import require_person
from outlive.parts.policy import always
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.system import fault_points
from outlive.system.waiting import Looks, pause

Given = tuple[str, bool, str | None]  # state, whether for always, reason

HOLDER_S = 5.0  # so long the process that made a job may take to start it, until another one does
_CHECK_S = 0.05  # between two looks at a job that another process is about to start or to end


# --- the process that asks ------------------------------------------------------------------------


def ask(ctx: Context, plan: Plan, job: JobDir, holder: int, deadline: float | None) -> socket.socket | None:
    """Wait for the approval of a job until `deadline` (time.monotonic seconds), and start the job if
    it is approved. Closes `holder`, as `answer_file.hold` returned it.

    Return the socket on which its supervisor reports; None if the job was not started here. Errors:
    as `after_answer.start`.
    """
    try:
        if ctx.later is not None:  # a server goes on with it when this call has been answered
            mine = lookup.open_known(ctx.caller, job.job_id)
            ctx.later(partial(_hold, ctx, plan, mine, holder))
            holder = -1
        given = _answer(job, deadline)
        if given is None or given.state != answer_file.APPROVED or holder < 0:
            return None
        return after_answer.start(ctx, job, plan)
    finally:
        if holder >= 0:
            plan.close()
            os.close(holder)


def _hold(ctx: Context, plan: Plan, job: JobDir, holder: int) -> None:
    """Start a job when it is approved, however long that takes."""
    try:
        given = _answer(job, None)
        if given is not None and given.state == answer_file.APPROVED:
            after_answer.start_unheard(ctx, job, plan)
        elif job.is_in_place():
            after_answer.settle(ctx, job)
    finally:
        plan.close()
        job.close()
        os.close(holder)


def _answer(job: JobDir, deadline: float | None) -> answer_file.Decision | None:
    """Wait for the answer. Return None if the job was removed or `deadline` (time.monotonic
    seconds) has passed."""
    looks = Looks()
    definition = job.read_meta()
    while job.is_in_place():
        given = answer_file.read_or_expire(job, definition)
        if given is not None:
            return given
        now = time.monotonic()
        if deadline is not None and now >= deadline:
            return None
        until = min(now + answer_file.seconds_left(definition), looks.next())
        pause((), until if deadline is None else min(until, deadline))
    return None


def go_on(ctx: Context, job: JobDir, deadline: float | None, *, given: Given | None, by: str) -> None:
    """Take the answer of the client's user, if there is one and there was none before, and wait until an approved job has
    started, or until `deadline`. Errors: those of `take` and `after_answer.start`, and invalid_state unless the caller made
    the job, and its approval was asked for."""
    inspection = adoption.inspect_and_adopt(ctx, job)
    definition = inspection.definition
    if not question_record.is_asked(definition) or not is_starter(ctx, definition):
        raise OutliveError("invalid_state", f"job {short_id(job.job_id)} waits for no approval")
    ctx.job_id = job.job_id
    if given is not None and answer_file.read(job) is None:
        take(ctx, job, *given, by=by)
    answer = _answer(job, deadline)
    if answer is not None and answer.state == answer_file.APPROVED:
        _have_started(ctx, job)


def is_starter(ctx: Context, definition: Definition) -> bool:
    """Return whether the caller is the client that made a job, in the same session."""
    return definition.owner == ctx.caller.owner and ownership.is_own(ctx, definition)


def take(ctx: Context, job: JobDir, state: str, always: bool, reason: str | None, *, by: str) -> None:
    """Write an answer down that came by a client. It has no effect if another one was first.
    Errors: denied, io_error."""
    rights = ctx.caller.rights
    if not rights.approves:
        raise rights.denied(
            f"the token {rights.token} neither approves nor denies",
            "`outlive approve` and `outlive deny` do, and `outlive token add NAME --approves` makes a token that may.",
            right="approves",
        )
    require_person(ctx.store, job.read_meta())
    _, first = _write(ctx, job, state, by, reason)
    if always and first:
        _remember(job.read_meta(), by)


def _write(ctx: Context, job: JobDir, state: str, by: str, reason: str | None) -> tuple[answer_file.Decision, bool]:
    """Record that a person answers, and write the answer down as `answer_file.answer` does. Errors: io_error."""
    acts.about_to(ctx, "approve" if state == answer_file.APPROVED else "deny", job.job_id, by=by, message=reason)
    try:
        return answer_file.answer(job, state, by=by, reason=reason)
    except OSError as error:
        raise from_os(f"writing {job.path}/{answer_file.FILE}", error, on="store") from error


def _remember(definition: Definition, by: str) -> None:
    """Approve the same command, with everything that decides what it does, from now on. Errors: io_error."""
    directory = state_directory(os.environ)
    key = question_record.of(definition).key
    if key is None:
        message = f"it was approved once, not always: no secret could be kept in {always.secret_path(directory)}"
        raise OutliveError("io_error", message, hint="Make it a file of yours with mode 0600, or delete it.")
    entry: dict[str, object] = {"key": key, "command": definition.command, "cwd": definition.cwd}
    if definition.script is not None:
        entry["command_bytes"] = definition.command_bytes
    try:
        always.add(directory, {**entry, "by": by, "at": timestamp()})
    except OSError as error:
        raise from_os(f"writing {always.path(directory)} (the job was approved)", error) from error


def withdraw(ctx: Context, job: JobDir) -> Inspection:
    """Withdraw a pending job. If it was approved at the same moment, wait until it has started and
    return that. Errors: invalid_state, io_error."""
    try:
        given, _ = answer_file.answer(job, answer_file.WITHDRAWN, by=ownership.actor(ctx.caller, job.read_meta()))
    except OSError as error:
        raise from_os(f"withdrawing job {job.job_id}", error, on="store") from error
    inspection = _settled(ctx, job)
    if inspection.state.state == "created":
        raise OutliveError("invalid_state", f"job {short_id(job.job_id)} is {given.state}", retryable=True)
    return inspection


def _settled(ctx: Context, job: JobDir) -> Inspection:
    """Return an answered job when it has started or ended, which another process may be about to do; after HOLDER_S as
    it is."""
    until = time.monotonic() + HOLDER_S
    while True:
        inspection = adoption.inspect_and_adopt(ctx, job)
        if inspection.state.state != "created" or time.monotonic() >= until:
            return inspection
        pause((), time.monotonic() + _CHECK_S)


# --- the person who answers -----------------------------------------------------------------------


def decide(
    ctx: Context, job: JobDir, state: str, *, by: str, reason: str | None = None, always: bool = False
) -> Inspection:
    """Write a person's answer about a pending job down, and have it take effect. With `always` the same command, with
    everything that decides what it does, is approved from now on.

    Errors: denied, io_error, invalid_state if the job waits for no answer, or was answered before.
    """
    inspection = adoption.inspect_and_adopt(ctx, job)
    require_person(ctx.store, inspection.definition)
    _require_pending(inspection, job)
    if (
        state == answer_file.APPROVED
        and after_answer.needs_asker(inspection.definition)
        and not answer_file.is_held(job)
    ):
        raise OutliveError(
            "invalid_state", f"it cannot start: {after_answer.FORGOTTEN}", hint="Deny it, and have it run again."
        )
    given, first = _write(ctx, job, state, by, reason)
    if not first:
        raise _answered(job, given)
    fault_points.at("approve_written")
    if state == answer_file.APPROVED:
        _have_started(ctx, job)
        inspection = adoption.inspect_and_adopt(ctx, job)  # on another host it may still be `created`
        if always:
            _remember(inspection.definition, by)
        return inspection
    return _settled(ctx, job)


def _require_pending(inspection: Inspection, job: JobDir) -> None:
    is_asked = question_record.is_asked(inspection.definition)
    given = answer_file.read(job) if is_asked else None
    if given is not None:
        raise _answered(job, given)
    if not is_asked or inspection.state.state != "created":
        raise OutliveError(
            "invalid_state",
            f"job {short_id(job.job_id)} waits for no approval",
            hint="`outlive list --all --state created` shows the jobs that do.",
        )


def _answered(job: JobDir, given: answer_file.Decision) -> OutliveError:
    by = f" by {given.by}" if given.by else ""
    message = f"job {short_id(job.job_id)} was {given.state} already{by}"
    return OutliveError("invalid_state", message, hint="The first answer counts.")


def _have_started(ctx: Context, job: JobDir) -> None:
    """Wait until the process that made the job has started it; if that is gone or does not act,
    start it here. Errors: as `start`."""
    until = time.monotonic() + HOLDER_S
    while answer_file.is_held(job) and time.monotonic() < until:
        state = job.read_state()
        if state is None or state.state != "created":
            return
        pause((), time.monotonic() + 0.02)
    after_answer.start_unheard(ctx, job)
