"""What happened to a client's jobs since its last call: told once, with whatever it asks for next."""

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
    """What one server found out so far; everything that must survive it is on disk."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[int, bool]] = {}  # job → as Owed.told
        self._looked: dict[str, float] = {}

    def known(self, ctx: Context, result: dict[str, Any]) -> None:
        """An answer told the client how these jobs ended: that is no news any more."""
        if ctx.client is None:
            return
        told = [result, *(one for one in result.get("jobs") or [] if isinstance(one, dict))]
        owed = None
        for one in told:
            if one.get("state") in FINISHED and one.get("job_id"):
                owed = owed or PendingNotices(ctx.store, ctx.client)
                owed.settle(one["job_id"])
                self._forget(one["job_id"])

    def collect(self, ctx: Context, answered: str | None = None) -> list[Notice]:
        """{job_id, name, state, exit_code, reason, last_line, at} and `event`: "finished", or "watch_hit" with `watch`,
        `pattern`, `seq` and `hits`. Each is told to one caller once. Of the job that is `answered` itself nothing is said:
        the answer may be a moment older, and would seem to contradict."""
        if ctx.client is None:
            return []
        owed = PendingNotices(ctx.store, ctx.client)
        found: list[Notice] = []
        jobs = 0
        for job_id in owed.ids():
            if jobs >= limits.NOTICES:
                break
            if job_id == answered:
                continue
            try:
                with lookup.open_known(ctx, job_id) as job:
                    told = self._of_job(ctx, owed, job, live=ctx.store.is_marked_live(job_id))
                    found += told
                    jobs += bool(told)
            except OutliveError as error:
                if error.code == "job_not_found":
                    owed.settle(job_id)
                    self._forget(job_id)
            except OSError:
                continue
        return found

    def _forget(self, job_id: str) -> None:
        self._told.pop(job_id, None)
        self._looked.pop(job_id, None)

    def _of_job(self, ctx: Context, owed: PendingNotices, job: JobDir, *, live: bool) -> list[Notice]:
        job_id = job.job_id
        size = history.size(job)
        if job_id not in self._told:
            self._told[job_id] = owed.told(job_id)
        told, end_told = self._told[job_id]
        now = time.monotonic()
        # A job whose supervisors were killed is still marked as live: somebody has to look
        if (live or end_told) and size == told and now - self._looked.get(job_id, now) < _LIVENESS_CHECK_S:
            self._looked.setdefault(job_id, now)
            return []
        self._looked[job_id] = now
        told, end_told = self._told[job_id] = max(
            self._told[job_id], owed.told(job_id)
        )  # by another server of this client
        look = adoption.inspect_and_adopt(ctx, job)
        fresh, end = history.read(job, offset=told)
        found = _hits(ctx, job, look, fresh)
        if look.state.finished and not end_told:
            found += _end(ctx, job, look)
        if look.state.finished and not (look.supervised and watches_of(look.definition.notification)):
            self._forget(job_id)
            return found if owed.settle(job_id) else []  # else another server of this client tells it
        self._told[job_id] = (end, look.state.finished)
        owed.tell(job_id, end, end=look.state.finished)
        return found


def _hits(ctx: Context, job: JobDir, look: Inspection, fresh: list[history.Event]) -> list[Notice]:
    """One notice a watch, with its latest line. What the client has read itself is no news."""
    seen = read_cursor.seen(ctx, job)
    latest: dict[str, Notice] = {}
    for event in fresh:
        if event["type"] != history.WATCH_HIT or event["seq"] < seen:
            continue
        hits = latest.get(event["watch"], {}).get("hits", 0) + 1
        latest[event["watch"]] = {
            **_about(job, look),
            "last_line": event["line"][: limits.LAST_LINE_CHARS],
            "at": event["at"],
            "event": "watch_hit",
            "watch": event["watch"],
            "pattern": event["pattern"],
            "seq": event["seq"],
            "hits": hits,
        }
    return list(latest.values())


def _end(ctx: Context, job: JobDir, look: Inspection) -> list[Notice]:
    state = look.state
    killed_itself = state.reason == "kill" and (state.ending or {}).get("by") == ctx.owner
    if killed_itself or not ctx.config.get("exec", "notify_on_exit"):
        return []
    with Output(job) as output:
        quiet = state.exit_code == 0 and state.reason == "exit" and not output.end
        if quiet and not ctx.config.get("exec", "notify_on_exit_empty_success"):
            return []
        last = window.last_line(output)
    return [{**_about(job, look), "last_line": last, "at": state.finished_at, "event": "finished"}]


def _about(job: JobDir, look: Inspection) -> Notice:
    state = look.state
    return {
        "job_id": job.job_id,
        "name": look.definition.name,
        "state": state.state,
        "exit_code": state.exit_code,
        "signal": state.signal,
        "reason": state.reason,
    }
