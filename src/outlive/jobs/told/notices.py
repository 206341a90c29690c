"""Notices: what happened to the jobs of a session since its last call.

They ride along with the next answer, each once. What the session was told is on disk, in
`store/inbox.py`. An agent host names its session in a variable of the shells and servers that it starts: a job that
such a shell starts is entered in the inbox of that session, which the session's MCP server and its hooks read too.
Whichever comes first tells what happened.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType

from outlive import limits
from outlive.core.labels import SESSION_VARIABLE
from outlive.core.members import entries_of, text_of
from outlive.core.records import FINISHED
from outlive.core.units import seconds_or
from outlive.errors import OutliveError, invalid
from outlive.jobs import adoption, lookup, programs
from outlive.jobs.context import Context, Principal
from outlive.jobs.diagnosis import deleted
from outlive.jobs.interaction import shown_output
from outlive.jobs.told import known_to_session, ownership
from outlive.store import deletions, history
from outlive.store.inbox import ANSWERED, FOLLOWED, LEFT, UNDER_WAY, Claim, Inbox, Told
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.store.root import Store
from outlive.system import tree

Notice = dict[str, object]

_HITS = (history.WATCH_HIT, history.WATCH_SUPPRESSED)
_NUMBER = re.compile(r"\d+[:-]")  # before each line that `log` found
_LIVENESS_CHECK_S = 2.0  # how often a silent job is checked for whether it still lives


class Receipt:
    """What one answer tells of jobs: its `notices`, and what it says itself. Call it once, with whether the answer was
    sent: only then was it told. An empty one is false."""

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self.named: list[tuple[Inbox, str]] = []  # jobs whose call had no answer before
        # Up to where jobs are told in their history; None: all that there is to tell
        self.told: list[tuple[Claim, Told | None]] = []
        # What is known of jobs with the answer (known_to_session.py)
        self.shown: list[tuple[Principal, str, bytes]] = []
        self.inboxes: list[Inbox] = []  # of a caller without a connection: they are closed then

    def __bool__(self) -> bool:
        return bool(self.named or self.told or self.shown)

    def show(self) -> None:
        """Note that the answer shows what it does, before its last byte goes out: a client that has it goes on behind it. Its
        notices are told when it has been sent: a notice may come twice, and none is lost."""
        shown, self.shown = self.shown, []
        for caller, job_id, record in shown:
            settle(caller, job_id, record, sent=True)

    def __call__(self, sent: bool) -> None:
        for caller, job_id, record in self.shown:
            settle(caller, job_id, record, sent=sent)
        for claim, told in self.told:
            if sent:
                claim.tell(told)
            claim.close()
        for inbox, job_id in self.named:
            inbox.set_call(job_id, ANSWERED if sent else LEFT)
        for inbox in self.inboxes:
            inbox.close()


def settle(caller: Principal, job_id: str, record: bytes, *, sent: bool) -> None:
    """Write what is known of a job with an answer, if that was `sent`."""
    assert caller.inbox is not None
    if sent:
        with suppress(OSError, OutliveError), lookup.open_known(caller, job_id) as job:
            known_to_session.write(job, caller.inbox.name, record)
    if caller.inbox.records.get(job_id) is record:  # else a later answer holds its own
        caller.inbox.records.pop(job_id, None)


def settle_all(ctx: Context) -> None:
    """Note that what this call shows has been sent: no transport reports it."""
    records = {} if ctx.inbox is None else ctx.inbox.records
    for job_id in ctx.shows & records.keys():
        settle(ctx.caller, job_id, records[job_id], sent=True)


def begin(caller: Principal) -> None:
    """Have the session live from its first call on, and take over what ended sessions of the client
    were not told."""
    if caller.inbox is not None:
        caller.inbox.arrive(lambda job_id: _exists(caller, job_id))


def leave(ctx: Context) -> None:
    """Note once that a call ended without an answer: the next answer names the job that it started, unless one
    in between has."""
    if ctx.inbox is None:
        return
    while ctx.shows:
        ctx.inbox.records.pop(ctx.shows.pop(), None)
    if ctx.job_id is not None and not ctx.left:
        ctx.inbox.set_call(ctx.job_id, LEFT)
        ctx.left = True


def failed(ctx: Context) -> None:
    """Note that a call is answered with an error, which names the job that the call started."""
    if ctx.inbox is not None and ctx.job_id is not None:
        ctx.inbox.set_call(ctx.job_id, ANSWERED)


def known(ctx: Context, answer: Mapping[str, object], receipt: Receipt | None = None) -> Receipt:
    """Return the receipt of an answer of a verb without notices: the session knows the jobs in it, and the hits whose
    lines it shows. `receipt`: that to which this is added."""
    receipt = Receipt() if receipt is None else receipt
    if ctx.inbox is None:
        return receipt
    about = [answer, *entries_of(answer, "jobs")]
    states = {str(job["job_id"]): job.get("state") for job in about if job.get("job_id")}
    for job_id in filter(states.__contains__, list(ctx.inbox.records)):
        receipt.shown.append((ctx.caller, job_id, ctx.inbox.records[job_id]))
    for job_id, state in states.items():
        before, ends = ctx.inbox.told(job_id), state in FINISHED
        if before is None:
            continue
        if before.call != ANSWERED:
            receipt.named.append((ctx.inbox, job_id))
        is_over = ends and not _is_watched(ctx.store, job_id)
        offset = before.offset if is_over else _told_to(ctx, job_id, before.offset, about)
        claim = ctx.inbox.claim(job_id) if ends or offset != before.offset else None
        if claim is not None:  # hits that are not shown are told all the same
            told = claim.told.changed(offset=max(offset, claim.told.offset), end=ends or claim.told.end)
            receipt.told.append((claim, None if is_over else told))
    return receipt


def _is_watched(store: Store, job_id: str) -> bool:
    """Return whether a job has watches, whose hits may be found after its end."""
    definition = lookup.definition(store, job_id)
    return definition is not None and bool(definition.notification.every_watch)


def collect(
    ctx: Context, answer: Mapping[str, object] = MappingProxyType({}), receipt: Receipt | None = None
) -> Receipt:
    """Return the notices that the session has not been told and `answer` does not tell, with the
    receipt of both. `receipt`: that to which they are added.

    A notice is {job_id, name, state, exit_code, signal, reason, last_line, at} and `event`: "finished"; "removed" for a
    job that another session or a person removed, or whose directory was deleted while it ran; "unanswered" for a job
    whose call was cancelled or cut off before its answer; "approved"; or "watch_hit" with `watch`, `pattern`, `seq` and
    `hits`. The job of the answer is left out: its answer may be a moment older than the notice, and would seem to
    contradict it. So are jobs that a call beside this one waits for: its answer will tell.
    """
    receipt = Receipt() if receipt is None else receipt
    inbox = ctx.inbox
    if inbox is None:
        return receipt
    begin(ctx.caller)
    known(ctx, answer, receipt)
    jobs = 0
    for job_id in inbox.ids():
        if jobs >= limits.NOTICES:
            break
        if job_id == answer.get("job_id") or inbox.is_under_way(job_id) or any(job_id in one for one in inbox.waits):
            continue
        if _is_still_quiet(ctx.store, inbox, job_id):
            continue
        of_job = _collected(ctx, inbox, job_id, receipt)
        receipt.notices += of_job
        jobs += bool(of_job)
    return receipt


def _collected(ctx: Context, inbox: Inbox, job_id: str, receipt: Receipt) -> list[Notice]:
    try:
        with lookup.open_known(ctx.caller, job_id) as job:
            return _of_job(ctx, inbox, job, receipt)
    except OutliveError as error:
        if error.code == "job_not_found":
            return _removed(ctx.caller, inbox, job_id, receipt)
    except Exception:  # noqa: BLE001 - whatever a job made of its files, its client's calls are answered
        pass
    return []


def _removed(caller: Principal, inbox: Inbox, job_id: str, receipt: Receipt) -> list[Notice]:
    """Return the notice about a job that is gone, if another session or a person removed it, or its
    directory was deleted while it ran."""
    claim = inbox.claim(job_id)
    if claim is None or claim.told.call == UNDER_WAY:  # the job is in the making
        return []
    deletion = deletions.find(caller.store, job_id, caller.wall)
    told: Notice = {"job_id": job_id, "name": "", "state": "unknown"}  # nothing is known of it but its processes
    told |= {"exit_code": None, "signal": None, "reason": None, "last_line": None, "at": None, "event": "removed"}
    if deletion is None and (job_id in inbox.lost or tree.with_cookie(job_id)):
        told |= {"reason": "lost", "message": deleted.lost(job_id)}
    elif deletion is not None and deletion["bound"] == deletions.REMOVED:
        told |= {name: deletion.get(name) for name in ("name", "state", "at")}
        told |= {"ended_by": deletion["by"], "message": f"removed by {deletion['by']}"}
    else:
        claim.tell(None)
        return []
    receipt.told.append((claim, None))
    return [told]


def _of_job(ctx: Context, inbox: Inbox, job: JobDir, receipt: Receipt) -> list[Notice]:
    if _is_quiet(inbox, job):
        return []
    claim = inbox.claim(job.job_id)
    if claim is None or claim.told.call == UNDER_WAY:  # a call beside this one, whose answer will tell
        return []
    before = claim.told
    inspection = adoption.inspect_and_adopt(ctx, job)
    events, offset = history.read(job, offset=before.offset)
    notices = [*_approved(job, inspection, events), *_hits(ctx, job, inspection, events)]
    finished = inspection.state.finished and not _is_left_to_a_task(before, inspection)
    # A job that is being ended is told of when it has
    is_left = before.call == LEFT and (finished or not inspection.state.ending)
    if is_left:
        notices.append(_state_of(ctx.caller, job, inspection, "unanswered"))
        receipt.named.append((inbox, job.job_id))
    elif finished and not before.end:
        notices += _end(ctx.caller, job, inspection)
    over = finished and not (inspection.supervised and inspection.definition.notification.every_watch)
    if over or is_left or (offset, finished) != (before.offset, before.end):
        receipt.told.append((claim, None if over else before.changed(offset=offset, end=finished)))
    return notices


def _is_left_to_a_task(told: Told, inspection: Inspection) -> bool:
    """Return whether the client is about to read the end from its task. A client that does not look in time, as while it
    shows a form, gets a notice, and so does every client after the clock was set back."""
    end = inspection.state.finished_at
    return told.call == FOLLOWED and 0 <= time.time() - seconds_or(end, 0) < limits.TASK_LOOK_S


def _is_still_quiet(store: Store, inbox: Inbox, job_id: str) -> bool:
    """Return whether nothing happened to a job since it was seen that all of it was told; without opening it, because each
    answer asks this of each job of the session."""
    size = inbox.quiet.get(job_id)
    is_inspected = time.monotonic() - inbox.inspected.get(job_id, -_LIVENESS_CHECK_S) < _LIVENESS_CHECK_S
    return size is not None and is_inspected and history.size_in(store, job_id) == size and store.is_marked_live(job_id)


def _is_quiet(inbox: Inbox, job: JobDir) -> bool:
    """Return whether nothing happened to a job since the session was last told of it. A job whose
    supervisors were killed stays marked as live until a reader inspects it."""
    job_id, now = job.job_id, time.monotonic()
    told = inbox.told(job_id)
    if told is None:  # another connection has just told of it
        return True
    is_inspected = now - inbox.inspected.get(job_id, -_LIVENESS_CHECK_S) < _LIVENESS_CHECK_S
    is_fresh = is_inspected and history.size(job) == told.offset
    if is_fresh and told.call != LEFT and (told.end or job.is_marked_live()):
        if told.call == ANSWERED:  # which it stays
            inbox.quiet[job_id] = told.offset
        return True
    inbox.inspected[job_id] = now
    return False


def _exists(caller: Principal, job_id: str) -> bool:
    """Return whether a job exists for this caller; to one without a wall, a removed one does."""
    try:
        lookup.open_known(caller, job_id).close()
    except OutliveError as error:
        return caller.wall is None and error.code == "job_not_found"
    except OSError:
        return False
    return True


def _approved(job: JobDir, inspection: Inspection, events: list[history.Event]) -> list[Notice]:
    """Return the notice that a person approved the job, if that is news."""
    notices = []
    for event in events:
        if event["type"] == history.APPROVED:
            said = f"approved by {event['by']}" + (f": {event['reason']}" if event.get("reason") else "")
            notices.append(_notice(job, inspection, "approved", None, event["at"], message=said))
    return notices


def _hits(ctx: Context, job: JobDir, inspection: Inspection, events: list[history.Event]) -> list[Notice]:
    """Return one notice for each watch, with its latest line; lines that the client has read are
    left out. Hits that were too many for events of their own are counted."""
    latest: dict[str, Notice] = {}
    counts: Counter[str] = Counter()
    for event in _unread(ctx, job, events):
        watch, line = event["watch"], event["line"][: limits.LAST_LINE_CHARS]
        counts[watch] += event.get("count", 1)
        about = {"watch": watch, "pattern": event["pattern"], "seq": event["seq"], "hits": counts[watch]}
        latest[watch] = _notice(job, inspection, "watch_hit", line, event["at"], **about)
    return list(latest.values())


def _end(caller: Principal, job: JobDir, inspection: Inspection) -> list[Notice]:
    state = inspection.state
    by = state.ending.by if state.ending is not None and state.reason == "kill" else None
    is_own_doing = (
        by == ownership.actor(caller, inspection.definition)
        and caller.inbox is not None
        and job.job_id in caller.inbox.killed
    )
    if is_own_doing or not caller.config.get("exec", "notify_on_exit"):
        return []
    with Output(job) as output:
        codes = programs.stage_codes(inspection, job) or ()
        quiet = state.exit_code == 0 and state.reason == "exit" and not output.end and not any(codes)
        if quiet and not caller.config.get("exec", "notify_on_exit_empty_success"):
            return []
    notice = _state_of(caller, job, inspection, "finished")
    notice |= {"ended_by": by} if by is not None else {}
    return [notice | ({"message": state.message} if state.reason == "denied" else {})]


def _state_of(caller: Principal, job: JobDir, inspection: Inspection, event: str) -> Notice:
    with Output(job) as output:
        last = shown_output.telling_line(caller, inspection, output)
    return _notice(job, inspection, event, last, inspection.state.finished_at or inspection.state.started_at)


def _notice(
    job: JobDir, inspection: Inspection, event: str, last_line: str | None, at: str | None, **more: object
) -> Notice:
    state, codes = inspection.state, programs.stage_codes(inspection, job)
    return {
        "job_id": job.job_id,
        "name": inspection.definition.name,
        "state": state.state,
        "exit_code": state.exit_code,
        "signal": state.signal,
        "reason": state.reason,
        **({} if codes is None else {"stages": codes}),
        "last_line": last_line,
        "at": at,
        "event": event,
        **more,
    }


def of_session(ctx: Context, session: str | None, window: Sequence[Inbox] = ()) -> Receipt:
    """Return the notices of a session, by default of that whose shell this is. `window`: further inboxes of the caller.
    Errors: invalid_argument if no session is named."""
    session = session or ctx.env.get(SESSION_VARIABLE)
    if not session:
        hint = f"Claude Code names its own in {SESSION_VARIABLE}; give --session elsewhere."
        raise invalid("session", "no session is named", hint=hint, usage=True)
    receipt = Receipt()
    for inbox in {inbox.name: inbox for inbox in (*Inbox.all_of(ctx.store, session), *window)}.values():
        collect(Context(ctx.caller.changed(inbox=inbox)), receipt=receipt)
        receipt.inboxes.append(inbox)
    return receipt


# --- which hits of watches a session has seen, so that no notice repeats them ---


def _unread(ctx: Context, job: JobDir, events: Iterable[history.Event]) -> list[history.Event]:
    """Return the hits among these events whose lines no answer has shown to the session up to where it has read."""
    position = known_to_session.seen(ctx, job, here=True)
    return [event for event in events if event["type"] in _HITS and event["seq"] >= position]


def _told_to(ctx: Context, job_id: str, offset: int, answers: Sequence[Mapping[str, object]]) -> int:
    """Return up to where in its history a session knows a job by these answers, one of which is about this job: beyond
    `offset` only if the session has seen the line of every hit since then."""
    try:
        with lookup.open_known(ctx.caller, job_id) as job:
            if history.size(job) == offset:
                return offset
            events, end = history.read(job, offset=offset)
            hits = Counter(event["line"] for event in _unread(ctx, job, events))
    except (OSError, OutliveError):  # removed meanwhile
        return offset
    if any(event["type"] == history.APPROVED for event in events):  # a notice of its own
        return offset
    shown = Counter(line for answer in answers if answer.get("job_id") == job_id for line in _last_lines(answer))
    return end if hits <= shown else offset


def _last_lines(answer: Mapping[str, object]) -> Iterator[str]:
    """Yield the lines of an answer that shows the output up to its end, or all in it that match. (A line in the middle of
    the output may be the same as a later one.)"""
    for name in ("stdout_tail", "stderr_tail", "last_lines"):
        yield from text_of(answer, name).splitlines()
    if answer.get("type") == "log" and answer.get("last_line") == answer.get("total_lines"):
        searched = answer.get("matches") is not None
        for line in text_of(answer, "output").splitlines():
            yield _NUMBER.sub("", line, count=1) if searched else line
