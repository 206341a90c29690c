"""Jobs that wait for a person's approval: ask, wait for the answer, start or end.

A pending job is `created`. Its directory holds what is asked, and later the answer
(store/approval.py), so that nothing is lost if the client, the server or the machine goes. The
process that made the job starts it when it is approved. If that process is gone, the process that
approves starts it, with its own environment; if that one dies too, the next look of a command line.
Imported only for jobs that have an approval.
"""

from __future__ import annotations

import os
import time

from outlive.core.ids import short_id
from outlive.core.units import timestamp
from outlive.errors import OutliveError, from_os
from outlive.jobs import adoption, lookup, starting
from outlive.jobs.waiting import Pause, drive
from outlive.store import approval, history
from outlive.store.inspect import Inspection, inspect_job
from outlive.store.job_dir import Locks
from outlive.system import fault_points, process, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.core.records import Definition
    from outlive.jobs.context import Context
    from outlive.jobs.definition import Plan
    from outlive.jobs.waiting import Waiting
    from outlive.policy.decide import Decision
    from outlive.store.job_dir import JobDir

    Given = tuple[str, bool, str | None]  # state, whether for always, reason
    from outlive.store.new_job import NewJob

MOST_HELD = 100  # jobs for whose answer one server waits: each takes open files
HOLDER_S = 5.0  # so long the process that made a job may take to start it, until another one does
_CHECK_S = 0.25  # between two looks where inotify is not to be had
_LOOK_S = 5.0  # between two looks anyway


def asked(decision: Decision, key: str, timeout_ms: int) -> dict[str, Any]:
    """Return the member `approval` of a definition: what is asked, and until when."""
    now = time.time()
    return {
        "rule": decision.rule,
        "reason": decision.reason,
        "command": decision.command,
        "key": key,
        "asked_at": timestamp(now),
        "expires_at": timestamp(now + timeout_ms / 1000),
    }


def record_asked(job: JobDir, request: dict[str, Any]) -> None:
    """Write into the history that approval is asked for. Call it with the job's locks held."""
    _record(job, history.APPROVAL_ASKED, rule=request["rule"], reason=request["reason"])


def _record(job: JobDir, kind: str, **content: Any) -> None:
    log = history.History(job)
    log.add(kind, 0, **content)
    log.close()


# --- the process that asks ------------------------------------------------------------------------


def ask_new(ctx: Context, plan: Plan, new: NewJob, reply: starting.Reply) -> Waiting[dict[str, Any]]:
    """Wait for the approval of a job that was just made, start it, and answer as for one that
    runs."""
    job = lookup.open_known(ctx, plan.definition.job_id)
    holder = approval.hold(new.dir)  # before the locks go: from here on it holds the job's environment
    new.close()
    return (yield from ask(ctx, plan, job, holder, reply))


def ask(ctx: Context, plan: Plan, job: JobDir, holder: int, reply: starting.Reply) -> Waiting[dict[str, Any]]:
    """Wait for the approval of a job, start it, and answer. Closes `job` and `holder`."""
    if ctx.later is not None:  # a server goes on with it when this call has been answered
        ctx.later(_hold(ctx, plan, lookup.open_known(ctx, job.job_id), holder))
        holder = -1
    if ctx.asks is not None and ctx.asks(plan.definition):
        reply.answer_now()
    sock = None
    try:
        given = yield from _answer(ctx, job, reply.deadline)
        if given is not None and given["state"] == approval.APPROVED and holder >= 0:
            sock = yield from start(ctx, job, plan)
        return (yield from starting.wait_and_answer(ctx, job, sock, reply, hint=plan.hint, told=sock is not None))
    finally:
        job.close()
        if holder >= 0:
            os.close(holder)


def _hold(ctx: Context, plan: Plan, job: JobDir, holder: int) -> Waiting[None]:
    """Start a job when it is approved, however long that takes."""
    _held.add(job.job_id)
    try:
        given = yield from _answer(ctx, job, None)
        if given is not None and given["state"] == approval.APPROVED:
            sock = yield from start(ctx, job, plan)
            if sock is not None:
                sock.close()
        elif job.is_in_place():
            settle(ctx, job)
    finally:
        _held.discard(job.job_id)
        job.close()
        os.close(holder)


_held: set[str] = set()  # by this server


def require_room() -> None:
    """Raise denied if this server waits for as many answers as it can."""
    if len(_held) >= MOST_HELD:
        raise OutliveError(
            "denied",
            f"{MOST_HELD} jobs of this server wait for the user's approval already",
            retryable=True,
            hint="Wait until the user has answered some of them, or withdraw them with kill.",
        )


def _answer(ctx: Context, job: JobDir, deadline: float | None) -> Waiting[dict[str, Any] | None]:
    """Wait for the answer. Return None if the job was removed or `deadline` (time.monotonic
    seconds) has passed."""
    watch = _Watch(job)
    definition = job.read_meta()
    try:
        while job.is_in_place():
            left_s = approval.seconds_left(definition)
            given = approval.read(job)
            if given is None and not left_s:
                given, _ = approval.answer(job, approval.EXPIRED)
            if given is not None:
                return given
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                return None
            until = now + min(left_s, _LOOK_S if watch.fds else _CHECK_S)
            yield Pause(watch.fds, until if deadline is None else min(until, deadline))
            watch.drain()
        return None
    finally:
        watch.close()


class _Watch:
    """Tells when the answer is written; without inotify, the caller looks at intervals."""

    def __init__(self, job: JobDir) -> None:
        from outlive.system import inotify

        self._watch: inotify.Watch | None = None
        try:
            self._watch = inotify.Watch(os.path.join(job.path, approval.FILE))
        except OSError:
            return

    @property
    def fds(self) -> tuple[int, ...]:
        return () if self._watch is None else (self._watch.fileno(),)

    def drain(self) -> None:
        try:
            if self._watch is not None:
                self._watch.drain()
        except OSError:
            self.close()

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None


def go_on(ctx: Context, job_id: str, given: Given | None, by: str, reply: starting.Reply) -> Waiting[dict[str, Any]]:
    """Take the answer of the client's user, if there is one, and answer as the call that made the
    job. Errors: job_not_found, invalid_state for a job that was never asked about."""
    with lookup.open_by_id(ctx, job_id) as job:
        _require_own(ctx, job)
        if given is not None and approval.read(job) is None:
            take(ctx, job, *given, by=by)
        answer = yield from _answer(ctx, job, reply.deadline)
        if answer is not None and answer["state"] == approval.APPROVED:
            yield from _have_started(ctx, job)
        return (yield from starting.wait_and_answer(ctx, job, None, reply))


def take_and_start(ctx: Context, job_id: str, given: Given, by: str) -> Waiting[None]:
    """Take the answer of the client's user, and wait until an approved job has started. Errors: as
    `go_on` and `start`."""
    with lookup.open_by_id(ctx, job_id) as job:
        _require_own(ctx, job)
        if approval.read(job) is None:
            take(ctx, job, *given, by=by)
        if (approval.read(job) or {}).get("state") == approval.APPROVED:
            yield from _have_started(ctx, job)


def _require_own(ctx: Context, job: JobDir) -> None:
    """Raise invalid_state unless the caller made the job, and its approval was asked for."""
    found = adoption.inspect_and_adopt(ctx, job)
    if found.definition.approval is None or found.definition.owner != ctx.owner:
        raise OutliveError("invalid_state", f"job {short_id(job.job_id)} waits for no approval")
    ctx.job_id = job.job_id


def take(ctx: Context, job: JobDir, state: str, always: bool, reason: str | None, *, by: str) -> None:
    """Write an answer down that came by a client. It has no effect if another one was first.
    Errors: io_error."""
    ctx.note("approve" if state == approval.APPROVED else "deny", job.job_id, by=by, message=reason)
    try:
        _, first = approval.answer(job, state, by=by, reason=reason)
    except OSError as error:
        raise from_os(f"writing {job.path}/{approval.FILE}", error, on="store") from error
    if always and first:
        remember(job.read_meta(), by)


def remember(definition: Definition, by: str) -> None:
    """Approve the same command in the same directory from now on. Errors: io_error."""
    from outlive.config import state_directory
    from outlive.policy import always

    directory = state_directory(os.environ)
    entry = {"key": (definition.approval or {}).get("key"), "command": definition.command, "cwd": definition.cwd}
    try:
        always.add(directory, {**entry, "by": by, "at": timestamp()})
    except OSError as error:
        raise from_os(f"writing {always.path(directory)} (the job was approved)", error) from error


# --- the end of the wait --------------------------------------------------------------------------


def start(ctx: Context, job: JobDir, plan: Plan | None = None) -> Waiting[Any]:
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
        if plan is None and _needs_asker(job.read_meta()):
            locks.close()
            _end(ctx, job, {"state": approval.DENIED, "reason": _FORGOTTEN})
            return None
        plan = plan or starting.plan_of_created(ctx, job)
        if not history.has(job, history.APPROVED):
            given = approval.read(job) or {}
            _record(job, history.APPROVED, by=given.get("by"), reason=given.get("reason"))
        ctx.store.mark_live(job.job_id)
        fault_points.at("approve_locked")
        sock = yield from starting.begin(ctx, plan, job, locks)
        try:
            yield from starting.started(job, sock, locks)
        except BaseException:
            if sock is not None:
                sock.close()
            raise
        return sock
    except OutliveError as error:
        ctx.note_unstarted(job.job_id, error)
        raise
    finally:
        locks.close()


# Masked values and a caller's own stdin are in no file
_FORGOTTEN = "only the process that made the job knew its masked variables or its input, and that process has ended"


def _needs_asker(definition: Definition) -> bool:
    return bool(definition.masked_env) or definition.stdin == "caller"


def settle(ctx: Context, job: JobDir) -> Inspection:
    """Do what the answer about a `created` job asks for, if the process that had to do it is gone.
    Return what is true of the job then.

    What was refused or has expired ends here. What was approved is started by a command line only,
    because its environment is a person's.
    """
    found = inspect_job(ctx.store, job)
    if found.state.state != "created" or found.supervised:
        return found
    given = approval.read(job)
    try:
        if given is None and not approval.seconds_left(found.definition):
            given, _ = approval.answer(job, approval.EXPIRED)
        if given is None:
            return found
        if given["state"] != approval.APPROVED:
            _end(ctx, job, given)
        elif ctx.face == "cli" and not approval.is_held(job) and not is_in_job():
            sock = drive(start(ctx, job))
            if sock is not None:
                sock.close()
    except (OSError, OutliveError):  # a read-only store, or no process can be made: the next look tries again
        return found
    return inspect_job(ctx.store, job)


def _end(ctx: Context, job: JobDir, given: dict[str, Any]) -> None:
    """Write down the end of a job that never ran. Nothing of it runs, its notification commands
    included: they were refused with it."""
    locks = Locks(job)
    try:
        state = job.read_state()
        if state is None or state.state != "created":
            return
        by, withdrawn = given.get("by"), given["state"] == approval.WITHDRAWN
        ended = state.replace(
            state="failed",
            phase="finished",
            reason="kill" if withdrawn else "denied",
            message=_message(given),
            started_at=job.read_meta().created_at,  # as of every job that never ran
            finished_at=timestamp(),
            ending={"cause": "kill", "by": by} if withdrawn else None,
        )
        _record(job, history.DENIED, by=by, reason=given.get("reason"), state=given["state"])
        _record(job, history.FINISHED, **history.outcome_of(ended))
        job.write_state(ended)
        job.release_reserve()
        job.remove_io()
        ctx.store.unmark_live(job.job_id)
    finally:
        locks.close()


def _message(given: dict[str, Any]) -> str:
    by = f" by {given['by']}" if given.get("by") else ""
    why = f": {given['reason']}" if given.get("reason") else ""
    said = {
        approval.EXPIRED: "it was not approved in time",
        approval.WITHDRAWN: f"it was withdrawn{by} before it was approved",
    }
    return said.get(given["state"], f"it was denied{by}{why}") + "; it never ran"


def withdraw(ctx: Context, job: JobDir) -> Waiting[Inspection]:
    """Withdraw a pending job. If it was approved at the same moment, wait until it has started and
    return that. Errors: invalid_state, io_error."""
    try:
        given, _ = approval.answer(job, approval.WITHDRAWN, by=ctx.owner)
    except OSError as error:
        raise from_os(f"withdrawing job {job.job_id}", error, on="store") from error
    until = time.monotonic() + HOLDER_S
    while True:
        found = adoption.inspect_and_adopt(ctx, job)
        if found.state.state != "created":
            return found
        if time.monotonic() >= until:
            raise OutliveError("invalid_state", f"job {short_id(job.job_id)} is {given['state']}", retryable=True)
        yield Pause((), time.monotonic() + _CHECK_S / 5)


# --- persons --------------------------------------------------------------------------------------


def person(way: str) -> str:
    """Return the name of the person who answers by this way."""
    import pwd

    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = f"uid {os.getuid()}"
    return f"{name} ({way})"


def require_person() -> None:
    """Raise denied inside a job: no job approves another one, nor itself."""
    if is_in_job():
        raise OutliveError(
            "denied",
            "this process belongs to a job, and a job neither approves nor denies",
            hint="A person does that in a terminal of their own.",
        )


def is_in_job() -> bool:
    """Return whether this process belongs to a job, as its environment or an ancestor tells."""
    if tree.COOKIE in os.environ:
        return True
    pid = os.getpid()
    while pid > 1:
        if tree.comm(pid) == tree.SUPERVISOR.encode() or tree.comm(pid).startswith(f"{tree.SUPERVISOR} ".encode()):
            return True
        if any(word.startswith(f"{tree.COOKIE}=".encode()) for word in tree.environment(pid)):
            return True
        fields = process.stat_fields(pid)
        pid = int(fields[1]) if fields else 0
    return False


def decide(ctx: Context, job: JobDir, state: str, *, by: str, reason: str | None = None) -> Waiting[Inspection]:
    """Write a person's answer about a pending job down, and have it take effect.

    Errors: invalid_state if the job waits for none, or was answered before.
    """
    found = adoption.inspect_and_adopt(ctx, job)
    _require_pending(found, job)
    if state == approval.APPROVED and _needs_asker(found.definition) and not approval.is_held(job):
        raise OutliveError("invalid_state", f"it cannot start: {_FORGOTTEN}", hint="Deny it, and have it run again.")
    ctx.note("approve" if state == approval.APPROVED else "deny", job.job_id, by=by, message=reason)
    try:
        given, first = approval.answer(job, state, by=by, reason=reason)
    except OSError as error:
        raise from_os(f"writing {job.path}/{approval.FILE}", error, on="store") from error
    if not first:
        raise _answered(job, given)
    fault_points.at("approve_written")
    if state == approval.APPROVED:
        yield from _have_started(ctx, job)
    return adoption.inspect_and_adopt(ctx, job)


def _require_pending(found: Inspection, job: JobDir) -> None:
    given = approval.read(job) if found.definition.approval is not None else None
    if given is not None:
        raise _answered(job, given)
    if found.definition.approval is None or found.state.state != "created":
        raise OutliveError(
            "invalid_state",
            f"job {short_id(job.job_id)} waits for no approval",
            hint="`outlive list --all --state created` shows the jobs that do.",
        )


def _answered(job: JobDir, given: dict[str, Any]) -> OutliveError:
    by = f" by {given['by']}" if given.get("by") else ""
    message = f"job {short_id(job.job_id)} was {given['state']} already{by}"
    return OutliveError("invalid_state", message, hint="The first answer counts.")


def _have_started(ctx: Context, job: JobDir) -> Waiting[None]:
    """Wait until the process that made the job has started it; if that is gone or does not act,
    start it here. Errors: as `start`."""
    until = time.monotonic() + HOLDER_S
    while approval.is_held(job) and time.monotonic() < until:
        state = job.read_state()
        if state is None or state.state != "created":
            return
        yield Pause((), time.monotonic() + 0.02)
    sock = yield from start(ctx, job)
    if sock is not None:
        sock.close()


def hint(job: JobDir, found: Inspection) -> str | None:
    """Return what to do about a job that has not started for want of an approval."""
    if found.state.state != "created":
        return None
    if approval.read(job) is not None:
        return "It is approved and about to start."
    name, about = short_id(job.job_id), found.definition.approval or {}
    why = f": {about['reason']}" if about.get("reason") else ""
    return (
        f"It waits for the user's approval ({about.get('rule')}{why}); nothing has run. Tell the user: "
        f"`outlive approve {name}` or `outlive deny {name}` in a terminal. wait answers when it has ended or was denied."
    )
