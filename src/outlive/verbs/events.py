"""Tell what happened: `events` to a job, `notices` to the jobs of a session."""

from __future__ import annotations

import json
import time
from typing import Any

from outlive import limits
from outlive.answers import sentences
from outlive.answers.job import Job
from outlive.answers.reading import Events, Notices
from outlive.jobs import adoption, lookup
from outlive.jobs.context import Context
from outlive.jobs.told import known_to_session
from outlive.jobs.told.notices import of_session
from outlive.render import head_and_tail
from outlive.store import history
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import EVENTS, JobDir
from outlive.system.waiting import pause


def events(
    ctx: Context,
    *,
    job: str,
    since_seq: int | None = None,
    since_event: int | None = None,
    limit: int = limits.EVENTS,
    max_bytes: int | None = None,
    follow: bool = False,
) -> Events:
    """Return events in the order of the output: without a cursor the newest, else the first ones after it."""
    with lookup.open_job(ctx, job) as job_dir:
        inspection = _end_recorded(ctx, job_dir, adoption.inspect_and_adopt(ctx, job_dir))
        entries, unreadable = _read(job_dir, after=since_event or 0, since_seq=since_seq or 0)
        newest = since_seq is None and since_event is None
        shown = _fitting(entries[::-1] if newest else entries, limit, max_bytes)
        more = len(shown) < len(entries)
        last = max((event["n"] for event in shown), default=since_event or 0)
        hint = None
        if more and newest:
            hint = "Older events are left out: since_event=0 begins with the first."
        elif more:
            hint = f"More events follow: since_event={last}."
        beyond = None if since_seq is None else known_to_session.beginning(ctx, job_dir, since_seq)[1]
        return Events(
            job=Job(job_id=job_dir.job_id, state=inspection.state.state),
            events=sorted(shown, key=lambda event: (event["seq"], event["n"])),
            next_event=last,
            next_seq=max((event["seq"] for event in shown), default=since_seq or 0),
            truncated=more,
            damage="; ".join(filter(None, (inspection.damage, unreadable))) or None,
            hint=sentences(beyond, hint),
        )


def _read(job: JobDir, **which: Any) -> tuple[list[history.Event], str | None]:
    """Return these events, or none and why they cannot be read."""
    try:
        return history.read(job, **which)[0], None
    except OSError as error:
        return [], f"{EVENTS}: {error.strerror or str(error).replace(EVENTS, 'it', 1)}"


def _fitting(entries: list[history.Event], limit: int, max_bytes: int | None) -> list[history.Event]:
    """Return the first events that fit into the answer."""
    some = entries[:limit] if limit else entries
    return some[: head_and_tail.fitting((len(json.dumps(event)) for event in some), max_bytes)]


def _end_recorded(ctx: Context, job: JobDir, inspection: Inspection) -> Inspection:
    """Return the inspection once the history of a finished job has its end, which is visible a moment earlier."""
    until = time.monotonic() + limits.CONTROL_S
    while inspection.state.finished and inspection.supervised and time.monotonic() < until:
        if any(_read(job, kinds=(history.FINISHED,))):
            break
        pause((), time.monotonic() + limits.HINT_INTERVAL_S)
        inspection = adoption.inspect_and_adopt(ctx, job)
    return inspection


def notices(ctx: Context, *, session: str | None = None) -> Notices:
    """Return the notices that the session has not been told yet."""
    receipt = ctx.sent = of_session(ctx, session)
    return Notices(notices=receipt.notices)
