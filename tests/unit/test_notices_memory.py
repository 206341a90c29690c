"""What a server remembers of jobs that it told clients of: no more than is still to be told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from outlive.core.ids import new_id
from outlive.core.records import Definition, State
from outlive.core.units import timestamp
from outlive.jobs.notices import Notices
from outlive.store.new_job import NewJob
from outlive.store.pending_notices import PendingNotices
from outlive.store.root import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = Store.open(str(tmp_path / "jobs"), {})
    yield found
    found.close()


@pytest.fixture
def job(store: Store) -> Iterator[str]:
    """It runs, as far as anybody can see: its locks are held here."""
    job_id = new_id()
    made = NewJob(store, job_id)
    made.dir.write_meta(Definition(job_id=job_id, created_at=timestamp(), name="x", owner="me", cwd="/"))
    made.dir.write_state(State(job_id=job_id, state="running", phase="running", started_at=timestamp()))
    store.mark_live(job_id)
    made.publish()
    PendingNotices(store, "me").add(job_id)
    yield job_id
    made.discard()


def _context(store: Store) -> Any:
    return SimpleNamespace(client="me", owner="me", wall=None, store=store)


def test_a_job_whose_end_an_answer_told_is_forgotten(store: Store, job: str) -> None:
    notices, ctx = Notices(), _context(store)
    assert notices.collect(ctx) == []
    assert job in notices._told
    notices.known(ctx, {"job_id": job, "state": "exited"})
    assert not notices._told and not notices._inspected
    assert PendingNotices(store, "me").ids() == []


def test_a_job_that_was_removed_is_forgotten(store: Store, job: str) -> None:
    notices, ctx = Notices(), _context(store)
    assert notices.collect(ctx) == []
    os.rename(Path(store.path, job), Path(store.path, ".gc-" + job))
    assert notices.collect(ctx) == []
    assert not notices._told and not notices._inspected
    os.rename(Path(store.path, ".gc-" + job), Path(store.path, job))
