"""Tell what happened to a job: its events."""

from __future__ import annotations

import time

from outlive import fastjson, limits
from outlive.core.records import READ
from outlive.errors import OutliveError
from outlive.jobs import adoption, lookup, read_cursor
from outlive.jobs.control_client import ControlClient
from outlive.jobs.waiting import Pause
from outlive.render import truncate
from outlive.store import history as log
from outlive.verbs.spec import BOOL, BUDGET, INT, JOB, SINCE_SEQ, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir


def events(
    ctx: Context,
    *,
    job: str,
    since_seq: int | None = None,
    since_event: int | None = None,
    limit: int = limits.EVENTS,
    max_bytes: int | None = None,
    follow: bool = False,
) -> Waiting[dict[str, Any]]:
    """Return events in the order of the output: without a cursor the newest, else the first ones
    after it."""
    with lookup.open_job(ctx, job) as found_job:
        inspected = yield from _end_told(ctx, found_job, adoption.inspect_and_adopt(ctx, found_job))
        state = inspected.state
        found, _ = log.read(found_job, after=since_event or 0, since_seq=since_seq or 0)
        newest = since_seq is None and since_event is None
        shown = _fitting(found[::-1] if newest else found, limit, max_bytes)
        more = len(shown) < len(found)
        found = shown[::-1] if newest else shown
        last = max((event["n"] for event in found), default=since_event or 0)
        answer = {
            "job_id": found_job.job_id,
            "state": state.state,
            "events": sorted(found, key=lambda event: (event["seq"], event["n"])),
            "next_event": last,
            "next_seq": max((event["seq"] for event in found), default=since_seq or 0),
            "truncated": more,
        }
        if more and newest:
            answer["hint"] = "Older events are left out: since_event=0 begins with the first."
        elif more:
            answer["hint"] = f"More events follow: since_event={last}."
        beyond = None if since_seq is None else read_cursor.beginning(ctx, found_job, since_seq)[1]
        return read_cursor.with_hint(beyond, answer)


def _fitting(found: list[log.Event], limit: int, max_bytes: int | None) -> list[log.Event]:
    """Return the first events that fit into the answer."""
    some = found[:limit] if limit else found
    return some[: truncate.fitting((len(fastjson.dumps(event)) for event in some), max_bytes)]


def _end_told(ctx: Context, job: JobDir, found: Inspection) -> Waiting[Inspection]:
    """Return the inspection once the history of a finished job has its end, which is visible a
    moment earlier."""
    until = time.monotonic() + limits.CONTROL_S
    while found.state.finished and found.supervised and time.monotonic() < until:
        if log.has(job, log.FINISHED):
            break
        yield Pause((), time.monotonic() + limits.HINT_INTERVAL_S)
        found = adoption.inspect_and_adopt(ctx, job)
    return found


def follow_events(
    ctx: Context,
    emit: Callable[[dict[str, Any]], None],
    *,
    job: str,
    since_seq: int | None = None,
    since_event: int | None = None,
    limit: int = 0,
    max_bytes: int | None = None,
) -> Waiting[None]:
    """Call `emit` with every event so far, then with each new one, until none can come any more."""
    with lookup.open_job(ctx, job) as found_job:
        control = ControlClient(found_job, output=False)
        after, offset = since_event or 0, 0
        try:
            while True:
                try:
                    found = adoption.inspect_and_adopt(ctx, found_job)
                except OutliveError as error:
                    if error.code == "job_not_found":  # removed: nothing more can come
                        return
                    raise
                fresh, offset = log.read(found_job, after=after, since_seq=since_seq or 0, offset=offset)
                for event in fresh:
                    emit({"job_id": found_job.job_id, **event})
                    after = max(after, event["n"])
                if not found.supervised and (found.state.finished or found.state.state in ("created", "unknown")):
                    return
                yield from control.pause(None)
        finally:
            control.close()


VERB = Verb(
    "events",
    "Tell what happened to a job: start, watch hits, prompts, signals, notifications, end.",
    events,
    args=(
        JOB,
        Arg("since_seq", INT, "Only events from this position of the output on.", minimum=0, aliases=("sinceSeq",),
            metavar="SEQ", mcp_help=SINCE_SEQ.mcp_help),
        Arg("since_event", INT, "Only events after this one (a next_event of an earlier answer).", minimum=0,
            metavar="N", mcp_help=""),
        Arg("limit", INT, "At most this many; 0: all.", default=limits.EVENTS,
            mcp_default=limits.MCP_EVENTS, minimum=0, metavar="N",
            mcp_help="at most this many"),
        BUDGET,
        Arg("follow", BOOL, "Print each event as one line of JSON, and new ones as they come, until the job is over.", default=False,
            mcp="", short="-f"),
    ),
    right=READ,
    result="job_id state events next_event next_seq truncated hint?",
    follow=follow_events,
)  # fmt: skip
