"""Whose turn it is in a queue, as a page shows it: of jobs that it was not told of it has the place alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from outlive.core.ids import new_id
from outlive.core.records import Definition, State
from outlive.parts.queues import QUEUE
from outlive.parts.queues.asked import Asked, PlaceInQueue
from outlive.parts.queues.table import Table
from outlive.parts.queues.turns import of_jobs
from outlive.store.inspection.inspection import Inspection


def seen(path: str, job_id: str, **place: object) -> Inspection:
    """What a page knows of a job in this queue."""
    asked = Asked(name="heavy", slots=2, table=path).to_dict()
    state: State = State(job_id=job_id, kept={QUEUE: PlaceInQueue.of(place).to_dict()})
    return Inspection(Definition(job_id=job_id, kept={QUEUE: asked}), state)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "heavy")


@pytest.fixture
def tables(path: str) -> Iterator[list[Table]]:
    found = [Table.opened(path) for _ in range(5)]
    yield found
    for table in found:
        table.close()


def test_jobs_that_were_not_told_of_have_a_place_and_no_id(path: str, tables: list[Table]) -> None:
    mine, others = new_id(), new_id()
    assert tables[0].take(2, others) and tables[1].take(2, mine)
    tickets = [table.join(0) for table in tables[2:]]
    last = new_id()
    found = of_jobs([seen(path, mine, slot=1, owner=mine), seen(path, last, ticket=tickets[-1])])
    assert [one.to_dict() for one in found] == [
        {"name": "heavy", "at_once": 2, "running": ["", mine], "waiting": ["", "", last], "held_back": ""}
    ]


def test_a_job_inside_of_another_one_runs_in_its_slot(path: str, tables: list[Table]) -> None:
    outer, inner = new_id(), new_id()
    slot = tables[0].take(2, outer)
    assert slot is not None and tables[1].share(slot)
    both = [seen(path, job, slot=0, owner=outer) for job in (outer, inner)]
    assert [one.running for one in of_jobs(both)] == [[outer, inner]]
    assert [one.running for one in of_jobs(both[1:])] == [[inner]]


def test_a_queue_without_anyone_is_none_and_what_was_spoilt_is_in_none(path: str, tables: list[Table]) -> None:
    job = new_id()
    assert of_jobs([seen(path, job, slot=0, owner=job)]) == []
    assert of_jobs([seen(f"{path}-gone", job, slot=0, owner=job)]) == []
    spoilt = Inspection(Definition(job_id=job, kept={QUEUE: {"name": "../x"}}), State(job_id=job))
    assert of_jobs([spoilt, Inspection(Definition(job_id=job), State(job_id=job))]) == []
