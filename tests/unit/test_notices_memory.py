"""What a server remembers of jobs that it told clients of: no more than is still to be told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from outlive.core.ids import new_id
from outlive.core.records import Definition, State
from outlive.core.units import timestamp
from outlive.jobs.news.notices import Notices
from outlive.store.new_job import NewJob
from outlive.store.pending_notices import Entry, Inbox
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
    yield job_id
    made.discard()


@pytest.fixture
def inbox(store: Store, job: str) -> Iterator[Inbox]:
    with closing(_inbox(store)) as found:
        found.add(job, watched=False)
        found.answered(job)
        yield found


def _inbox(store: Store, session: str | None = None) -> Inbox:
    return Inbox(store, "me", "/", session, new_id(), before="me")


def _context(inbox: Inbox) -> Any:
    return SimpleNamespace(client="me", owner="me", wall=None, store=inbox._store, inbox=inbox)


def test_what_was_not_sent_when_the_connection_ended_goes_to_the_next(store: Store, inbox: Inbox, job: str) -> None:
    ended = {"job_id": job, "state": "exited"}
    Notices().collect(_context(inbox), ended)
    with closing(_inbox(store)) as other:
        Notices().collect(_context(other))
        assert (other.ids(), inbox.ids()) == ([], [job]), "the first connection is there"
    inbox.close()  # as the kernel does when the server dies
    with closing(_inbox(store)) as following:
        notices = Notices()
        _, sent = notices.collect(_context(following))
        assert following.ids() == [job]
        assert sent is None
        _, sent = notices.collect(_context(following), ended)
        assert sent is not None
        sent(True)
        assert following.ids() == []


def test_older_entries_are_read_with_the_words_that_they_have() -> None:
    full = Entry(7, end=True, watched=False, unanswered=True)
    for data, expected in (
        (full.written(), (7, True, False, True)),
        (b"7 1 0\n", (7, True, False, False)),
        (b"7 1", (7, True, True, False)),
        (b"", (0, False, True, False)),
        (b"x", (0, False, True, False)),
    ):
        entry = Entry.read(data)
        assert (entry.told, entry.end, entry.watched, entry.unanswered) == expected


def test_of_two_connections_of_a_session_the_other_tells_nothing_meanwhile(store: Store, job: str) -> None:
    with closing(_inbox(store, "s")) as one, closing(_inbox(store, "s")) as other:
        one.add(job, watched=False)
        assert other.ids() == [job]
        assert (one.claim(job), other.claim(job)) == (True, False)
        one.release(job)
        assert other.ids() == [job]
    with closing(_inbox(store, "s")) as again:
        assert again.ids() == [job]
        again.claim(job)
        again.settle(job)
    assert os.listdir(Path(store.path, ".owed")) == []


def test_a_job_whose_end_an_answer_told_is_forgotten(inbox: Inbox, store: Store, job: str) -> None:
    notices, ctx = Notices(), _context(inbox)
    assert notices.collect(ctx)[0] == []
    assert job in notices._told
    sent = notices.known(ctx, {"job_id": job, "state": "exited"})
    assert sent is not None
    sent(True)
    assert not notices._told and not notices._inspected
    assert ctx.inbox.ids() == []


def test_a_job_that_was_removed_is_forgotten(inbox: Inbox, store: Store, job: str) -> None:
    notices, ctx = Notices(), _context(inbox)
    assert notices.collect(ctx)[0] == []
    os.rename(Path(store.path, job), Path(store.path, ".gc-" + job))
    assert notices.collect(ctx)[0] == []
    assert not notices._told and not notices._inspected
    os.rename(Path(store.path, ".gc-" + job), Path(store.path, job))
