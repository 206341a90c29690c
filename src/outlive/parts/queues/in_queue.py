"""Which jobs run or wait in a queue."""

from __future__ import annotations

from collections.abc import Mapping

from outlive.core.members import text_of
from outlive.core.units import counted
from outlive.errors import OutliveError, argument, invalid
from outlive.jobs import lookup
from outlive.jobs.context import Context
from outlive.part import Selected
from outlive.parts.queues import QUEUE, asked, settings
from outlive.parts.queues.asked import PlaceInQueue
from outlive.parts.queues.checks import known_hint, table_of
from outlive.parts.queues.table import Table


def selected(ctx: Context, args: Mapping[str, object]) -> Selected:
    """Return the jobs in a queue, those that run first, then the line. Errors: invalid_argument."""
    name = text_of(args, QUEUE)
    known = settings.of(ctx.config)
    may_run = lookup.live_ids(ctx.caller)
    places = {job_id: place for job_id in may_run if (place := _place(ctx, job_id, name)) is not None}
    if name not in known and not places:
        raise invalid(QUEUE, f"{argument(QUEUE)} names no queue: {name!r}", hint=known_hint(name, [*known]))
    in_order = sorted(places, key=lambda job_id: (places[job_id].ticket or 0, job_id))
    waiting = sum(place.ticket is not None for place in places.values())
    return Selected(in_order, _said(ctx, name, waiting), in_order=True)


def _place(ctx: Context, job_id: str, name: str) -> PlaceInQueue | None:
    """Return where a job is in this queue; None if it is not in it, has ended, or does not exist for this caller."""
    try:
        with lookup.open_known(ctx.caller, job_id) as job:
            queue, state = asked.of_job(job.read_meta()), job.read_state()
    except (OSError, OutliveError, ValueError):
        return None
    if queue is None or queue.name != name or state is None or state.finished:
        return None
    place = asked.place(state)
    return None if place == PlaceInQueue() else place


def _said(ctx: Context, name: str, waiting: int) -> str:
    slots = settings.of(ctx.config)[name].slots if name in settings.of(ctx.config) else None
    try:
        table = Table.read(table_of(ctx, name))
    except OSError:  # no job was ever in it
        taken, line = 0, 0
    else:
        try:
            taken, line = len(table.taken()), table.length()
        finally:
            table.close()
    of = "" if slots is None else f" of {slots}"
    others = "" if line <= waiting else f", {line - waiting} of them not of this job root or of this caller"
    return f"Queue {name}: {taken}{of} slots taken, {counted(line, 'job')} in line{others}."
