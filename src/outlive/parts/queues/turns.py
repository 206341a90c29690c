"""Whose turn it is in the queues of some jobs, as a page shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from outlive.core.record import Value
from outlive.part import Inspection, Turns
from outlive.parts.queues import SLOTS, asked, room
from outlive.parts.queues.asked import Asked, PlaceInQueue
from outlive.parts.queues.of_job import when
from outlive.parts.queues.table import Table


class _Member(Value):
    """A job in a queue, or in line for it."""

    job_id: str
    queue: Asked
    place: PlaceInQueue


def of_jobs(inspections: Iterable[Inspection]) -> list[Turns]:
    """Return whose turn it is in each queue that one of these jobs is in."""
    by_table: dict[str, list[_Member]] = {}
    for one in _members(inspections):
        by_table.setdefault(one.queue.table, []).append(one)
    each = (_turns(table, members) for table, members in sorted(by_table.items()))
    return [turns for turns in each if turns is not None]


def _members(inspections: Iterable[Inspection]) -> Iterator[_Member]:
    for one in inspections:
        try:
            queue = asked.of_job(one.definition)
        except ValueError:  # a start of it is refused
            continue
        if queue is not None:
            yield _Member(one.definition.job_id, queue, asked.place(one.state))


def _turns(path: str, members: list[_Member]) -> Turns | None:
    """Return whose turn it is in one queue; None if no job has a place or waits, or that cannot be seen."""
    try:
        table = Table.read(path)
    except OSError:
        return None
    try:
        taken, tickets = table.taken(), table.tickets()
    finally:
        table.close()
    in_line = {one.place.ticket: one for one in members if one.place.ticket is not None}
    # A job that was started inside of another one has the slot of that one
    inside = {line.job_id: [one.job_id for one in members if one.place.owner == line.job_id] for line in taken}
    running = [job_id for line in taken for job_id in inside[line.job_id] or [""]]
    waiting = [in_line[ticket].job_id if ticket in in_line else "" for ticket in tickets]
    if not (running or waiting):
        return None
    # Each job goes by the settings that it was made with; of those in line the first counts that is known
    queue = next((in_line[ticket].queue for ticket in tickets if ticket in in_line), members[0].queue)
    lacking = room.lacking(queue, taken) if waiting else None
    held_back = "" if lacking in (None, SLOTS) else f"Jobs start {when(queue, lacking)}."
    return Turns(queue.name, queue.slots, running, waiting, held_back)
