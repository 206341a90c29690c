"""Notices: what happened to a client's jobs since its last call.

They ride along with the next answer, each once.
"""

from __future__ import annotations

import time

from outlive import limits
from outlive.core.records import FINISHED, watches_of
from outlive.errors import OutliveError
from outlive.jobs import adoption, lookup, read_cursor
from outlive.render import window
from outlive.store import history
from outlive.store.output.merged import Output
from outlive.store.pending_notices import PendingNotices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir

    Notice = dict[str, Any]

_LIVENESS_CHECK_S = 2.0  # how often a silent job is checked for whether it still lives


class Notices:
    """The notices of one server's clients.

    What must survive the server is on disk, in `store/pending_notices.py`.
    """

    def __init__(self) -> None:
        self._told: dict[str, tuple[int, bool]] = {}  # job → as PendingNotices.told
        self._inspected: dict[str, float] = {}

    def known(self, ctx: Context, result: dict[str, Any]) -> None:
        """Drop the notices of jobs whose end the answer `result` has told the client."""
        if ctx.client is None:
            return
        told = [result, *(one for one in result.get("jobs") or [] if isinstance(one, dict))]
        pending = None
        for one in told:
            if one.get("state") in FINISHED and one.get("job_id"):
                pending = pending or PendingNotices(ctx.store, ctx.client)
                pending.settle(one["job_id"])
                self._forget(one["job_id"])

    def collect(self, ctx: Context, answered: str | None = None) -> list[Notice]:
        """Return the notices that the client has not been told, and note that it is told them now.

        A notice is {job_id, name, state, exit_code, reason, last_line, at} and `event`: "finished",
        or "watch_hit" with `watch`, `pattern`, `seq` and `hits`. The job `answered` is left out:
        its answer may be a moment older than the notice, and would seem to contradict it.
        """
        if ctx.client is None:
            return []
        pending = PendingNotices(ctx.store, ctx.client)
        notices: list[Notice] = []
        jobs = 0
        for job_id in pending.ids():
            if jobs >= limits.NOTICES:
                break
            if job_id == answered:
                continue
            try:
                with lookup.open_known(ctx, job_id) as job:
                    told = self._of_job(ctx, pending, job, live=ctx.store.is_marked_live(job_id))
                    notices += told
                    jobs += bool(told)
            except OutliveError as error:
                if error.code == "job_not_found":
                    pending.settle(job_id)
                    self._forget(job_id)
            except OSError:
                continue
        return notices

    def _forget(self, job_id: str) -> None:
        self._told.pop(job_id, None)
        self._inspected.pop(job_id, None)

    def _of_job(self, ctx: Context, pending: PendingNotices, job: JobDir, *, live: bool) -> list[Notice]:
        job_id = job.job_id
        size = history.size(job)
        if job_id not in self._told:
            self._told[job_id] = pending.told(job_id)
        told, end_told = self._told[job_id]
        now = time.monotonic()
        # A job whose supervisors were killed stays marked as live until a reader inspects it
        if (live or end_told) and size == told and now - self._inspected.get(job_id, now) < _LIVENESS_CHECK_S:
            self._inspected.setdefault(job_id, now)
            return []
        self._inspected[job_id] = now
        # Another server of this client may have told it more
        told, end_told = self._told[job_id] = max(self._told[job_id], pending.told(job_id))
        found = adoption.inspect_and_adopt(ctx, job)
        fresh, end = history.read(job, offset=told)
        notices = _hits(ctx, job, found, fresh)
        if found.state.finished and not end_told:
            notices += _end(ctx, job, found)
        if found.state.finished and not (found.supervised and watches_of(found.definition.notification)):
            self._forget(job_id)
            return notices if pending.settle(job_id) else []  # else another server of this client tells it
        self._told[job_id] = (end, found.state.finished)
        pending.tell(job_id, end, end=found.state.finished)
        return notices


def _hits(ctx: Context, job: JobDir, found: Inspection, fresh: list[history.Event]) -> list[Notice]:
    """Return one notice for each watch, with its latest line; lines that the client has read are
    left out."""
    seen = read_cursor.seen(ctx, job)
    latest: dict[str, Notice] = {}
    for event in fresh:
        if event["type"] != history.WATCH_HIT or event["seq"] < seen:
            continue
        hits = latest.get(event["watch"], {}).get("hits", 0) + 1
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
    if killed_itself or not ctx.config.get("exec", "notify_on_exit"):
        return []
    with Output(job) as output:
        quiet = state.exit_code == 0 and state.reason == "exit" and not output.end
        if quiet and not ctx.config.get("exec", "notify_on_exit_empty_success"):
            return []
        last = window.last_line(output)
    return [{**_about(job, found), "last_line": last, "at": state.finished_at, "event": "finished"}]


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
