"""Notices: what happened to a client's jobs since its last call.

They ride along with the next answer, each once.
"""

from __future__ import annotations

import time
from functools import partial

from outlive import limits
from outlive.core.records import FINISHED, watches_of
from outlive.errors import OutliveError
from outlive.jobs import adoption, lookup, read_cursor
from outlive.render import window
from outlive.store import history
from outlive.store.output.merged import Output
from outlive.store.pending_notices import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir
    from outlive.store.pending_notices import Inbox

    Notice = dict[str, Any]

_LIVENESS_CHECK_S = 2.0  # how often a silent job is checked for whether it still lives


class Notices:
    """The notices of one server's clients.

    What must survive the server is on disk, in `store/pending_notices.py`.
    """

    def __init__(self) -> None:
        self._told: dict[str, tuple[int, bool]] = {}  # job → bytes of its history, and whether its end
        self._inspected: dict[str, float] = {}
        self._unsent: set[str] = set()  # jobs of which an answer tells that has not been sent yet

    def begin(self, ctx: Context) -> None:
        """Take over what ended connections of the client were not told."""
        if ctx.inbox is not None:
            ctx.inbox.take_ended(lambda job_id: _exists(ctx, job_id))

    def known(self, ctx: Context, result: dict[str, Any]) -> Callable[[bool], None] | None:
        """Return what is to be called with whether the client was sent `result`, and so knows the
        jobs in it; None if there is nothing to note."""
        sent = self._known(ctx, result)
        return partial(_all, sent) if sent else None

    def collect(
        self, ctx: Context, answer: dict[str, Any] | None = None
    ) -> tuple[list[Notice], Callable[[bool], None] | None]:
        """Return the notices that the client has not been told and `answer` does not tell, and what
        is to be called with whether all of this was sent; None if there is nothing to note.

        A notice is {job_id, name, state, exit_code, reason, last_line, at} and `event`: "finished";
        "unanswered" for a job whose call was cancelled or cut off before its answer; or "watch_hit"
        with `watch`, `pattern`, `seq` and `hits`. The job of the answer is left out: its answer may
        be a moment older than the notice, and would seem to contradict it.
        """
        if ctx.inbox is None:
            return [], None
        self.begin(ctx)
        answer = answer or {}
        notices: list[Notice] = []
        sent = self._known(ctx, answer)
        jobs = 0
        for job_id in ctx.inbox.ids():
            if jobs >= limits.NOTICES:
                break
            if job_id == answer.get("job_id") or job_id in self._unsent:
                continue
            told = self._collected(ctx, ctx.inbox, job_id, sent)
            notices += told
            jobs += bool(told)
        return notices, partial(_all, sent) if sent else None

    def _known(self, ctx: Context, result: dict[str, Any]) -> list[Callable[[bool], None]]:
        sent: list[Callable[[bool], None]] = []
        if ctx.inbox is None:
            return sent
        for one in [result, *(one for one in result.get("jobs") or [] if isinstance(one, dict))]:
            job_id = one.get("job_id")
            if not job_id or job_id in self._unsent:
                continue
            if one.get("state") not in FINISHED:
                if ctx.inbox.is_unanswered(job_id):
                    sent.append(partial(_answered, ctx.inbox, job_id))
                continue
            entry = ctx.inbox.entry(job_id)
            if entry is not None and ctx.inbox.claim(job_id):  # hits are told all the same
                self._note(ctx.inbox, job_id, Entry(entry.told, end=True) if entry.watched else None, sent)
        return sent

    def _note(self, inbox: Inbox, job_id: str, told: Entry | None, sent: list[Callable[[bool], None]]) -> None:
        """Add to `sent` what notes that this much was told of a job, None: all."""
        self._unsent.add(job_id)

        def note(written: bool) -> None:
            self._unsent.discard(job_id)
            if not written:
                inbox.release(job_id)
                if inbox.is_unanswered(job_id):
                    inbox.leave(job_id)
            elif told is None:
                self._forget(job_id)
                inbox.settle(job_id)
            else:
                self._told[job_id] = (told.told, told.end)
                inbox.tell(job_id, told)

        sent.append(note)

    def _collected(self, ctx: Context, inbox: Inbox, job_id: str, sent: list[Callable[[bool], None]]) -> list[Notice]:
        try:
            with lookup.open_known(ctx, job_id) as job:
                return self._of_job(ctx, inbox, job, sent, live=ctx.store.is_marked_live(job_id))
        except OutliveError as error:
            if error.code == "job_not_found" and inbox.claim(job_id):
                inbox.settle(job_id)
                self._forget(job_id)
        except Exception:  # noqa: BLE001 - whatever a job made of its files, its client's calls are answered
            pass
        return []

    def _forget(self, job_id: str) -> None:
        self._told.pop(job_id, None)
        self._inspected.pop(job_id, None)

    def _of_job(
        self, ctx: Context, inbox: Inbox, job: JobDir, sent: list[Callable[[bool], None]], *, live: bool
    ) -> list[Notice]:
        job_id = job.job_id
        size = history.size(job)
        told, end_told = self._told.get(job_id, (-1, False))
        now = time.monotonic()
        is_left = job_id in inbox.left
        # A job whose supervisors were killed stays marked as live until a reader inspects it
        is_fresh = size == told and now - self._inspected.get(job_id, now) < _LIVENESS_CHECK_S
        if (live or end_told) and is_fresh and not is_left:
            self._inspected.setdefault(job_id, now)
            return []
        self._inspected[job_id] = now
        if not inbox.claim(job_id):
            return []  # another connection of the session tells of it
        try:
            entry = inbox.claimed(job_id) or Entry()
            found = adoption.inspect_and_adopt(ctx, job)
            fresh, end = history.read(job, offset=entry.told)
            notices = [*_approved(job, found, fresh), *_hits(ctx, job, found, fresh)]
            # A job that is being ended is told of when it has
            tells_left = is_left and (found.state.finished or not found.state.ending)
            if tells_left:
                notices.append(_told_now(job, found, "unanswered"))
            elif found.state.finished and not entry.end:
                notices += _end(ctx, job, found)
        except BaseException:
            inbox.release(job_id)
            raise
        over = found.state.finished and not (found.supervised and watches_of(found.definition.notification))
        if not over and not tells_left and (end, found.state.finished) == (entry.told, entry.end):
            self._told[job_id] = (end, entry.end)
            inbox.release(job_id)
        else:
            kept = inbox.is_unanswered(job_id) and not tells_left
            news = Entry(end, end=found.state.finished, watched=entry.watched, unanswered=kept)
            self._note(inbox, job_id, None if over else news, sent)
        return notices


def _all(sent: list[Callable[[bool], None]], written: bool) -> None:
    for note in sent:
        note(written)


def _answered(inbox: Inbox, job_id: str, written: bool) -> None:
    """Note that an answer named a running job, or that it was lost."""
    if written:
        inbox.answered(job_id)
    else:
        inbox.leave(job_id)


def _exists(ctx: Context, job_id: str) -> bool:
    """Return whether a job exists for this caller; to one without a wall, a removed one does."""
    try:
        lookup.open_known(ctx, job_id).close()
    except OutliveError as error:
        return ctx.wall is None and error.code == "job_not_found"
    except OSError:
        return False
    return True


def _approved(job: JobDir, found: Inspection, fresh: list[history.Event]) -> list[Notice]:
    """Return the notice that a person approved the job, if that is news."""
    return [
        {
            **_about(job, found),
            "last_line": None,
            "at": event["at"],
            "event": "approved",
            "message": f"approved by {event['by']}" + (f": {event['reason']}" if event.get("reason") else ""),
        }
        for event in fresh
        if event["type"] == history.APPROVED
    ]


def _hits(ctx: Context, job: JobDir, found: Inspection, fresh: list[history.Event]) -> list[Notice]:
    """Return one notice for each watch, with its latest line; lines that the client has read are
    left out. Hits that were too many for events of their own are counted."""
    seen = read_cursor.seen_here(ctx, job)
    latest: dict[str, Notice] = {}
    for event in fresh:
        if event["type"] not in (history.WATCH_HIT, history.WATCH_SUPPRESSED) or event["seq"] < seen:
            continue
        hits = latest.get(event["watch"], {}).get("hits", 0) + event.get("count", 1)
        latest[event["watch"]] = {
            **_about(job, found),
            "last_line": event["line"][: limits.LAST_LINE_CHARS],
            "at": event["at"],
            "event": "watch_hit",
            "watch": event["watch"],
            "pattern": event["pattern"],
            "seq": event["seq"],
            "hits": hits,
        }
    return list(latest.values())


def _end(ctx: Context, job: JobDir, found: Inspection) -> list[Notice]:
    state = found.state
    killed_itself = state.reason == "kill" and (state.ending or {}).get("by") == ctx.owner
    # Another session of the client has the same name
    killed_itself = killed_itself and ctx.inbox is not None and job.job_id in ctx.inbox.killed
    if killed_itself or not ctx.config.get("exec", "notify_on_exit"):
        return []
    with Output(job) as output:
        quiet = state.exit_code == 0 and state.reason == "exit" and not output.end
        if quiet and not ctx.config.get("exec", "notify_on_exit_empty_success"):
            return []
    notice = _told_now(job, found, "finished")
    return [notice | ({"message": state.message} if state.reason == "denied" else {})]


def _told_now(job: JobDir, found: Inspection, event: str) -> Notice:
    with Output(job) as output:
        last = window.last_line(output)
    at = found.state.finished_at or found.state.started_at
    return {**_about(job, found), "last_line": last, "at": at, "event": event}


def _about(job: JobDir, found: Inspection) -> Notice:
    state = found.state
    return {
        "job_id": job.job_id,
        "name": found.definition.name,
        "state": state.state,
        "exit_code": state.exit_code,
        "signal": state.signal,
        "reason": state.reason,
    }
