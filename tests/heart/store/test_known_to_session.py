"""What a session has read of a job, and which conditions were reported to it: one record."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from outlive.core.ids import new_id
from outlive.core.records import Definition
from outlive.core.units import timestamp
from outlive.jobs.context import Context
from outlive.jobs.told import known_to_session, notices
from outlive.store.inbox import Inbox
from outlive.store.job_dir import JobDir
from outlive.store.new_job import NewJob
from outlive.store.root import Store
from support.contexts import context_of

Session = Callable[..., Context]


@pytest.fixture
def session(store: Store) -> Iterator[Session]:
    """What makes the context of a call of a session; all have a live connection."""
    live: list[Inbox] = []

    def called(name: str, client: str = "me", directory: str = "/") -> Context:
        live.append(Inbox.of(store, client, directory, name))
        live[-1].arrive(lambda job: True)
        return context_of(store, face="mcp", client=client, inbox=live[-1])

    yield called
    for inbox in live:
        inbox.close()


@pytest.fixture
def me(session: Session) -> Any:
    return session("mine")


@pytest.fixture
def job(store: Store, me: Any) -> Iterator[JobDir]:
    job_id = new_id()
    made = NewJob(store, job_id)
    made.dir.write_meta(
        Definition(job_id=job_id, created_at=timestamp(), name="x", owner="me", cwd="/", session=me.inbox.name)
    )
    made.publish()
    with JobDir.open(store, job_id) as opened:
        yield opened
    made.discard()


def sent(ctx: Context, *, sent: bool = True) -> None:
    """The answers of the session so far have been sent, or never will be."""
    assert ctx.inbox is not None
    for job_id, record in list(ctx.inbox.records.items()):
        notices.settle(ctx.caller, job_id, record, sent=sent)


def again(ctx: Context) -> Context:
    """The next call of the same session."""
    return Context(ctx.caller)


def test_conditions_may_be_reported_before_anything_is_read(job: JobDir, me: Any) -> None:
    assert known_to_session.reported(me, job) == {}
    known_to_session.mark_reported(me, job, "exit", 0)
    known_to_session.mark_reported(me, job, "regex é\udc80", 7)
    assert (known_to_session.seen(me, job), known_to_session.reported(me, job)) == (0, {"exit": 0, "regex é?": 7})
    known_to_session.mark_seen(me, job, 12)
    assert (known_to_session.seen(me, job, here=True), known_to_session.reported(me, job)) == (
        12,
        {"exit": 0, "regex é?": 7},
    )


def test_a_session_goes_on_where_an_ended_one_of_its_client_in_its_directory_was(
    job: JobDir, me: Any, session: Session
) -> None:
    known_to_session.mark_seen(me, job, 0)
    assert not (Path(job.path) / ".seen").exists(), "a session without a record is at 0"
    known_to_session.mark_seen(me, job, 12)
    known_to_session.mark_reported(me, job, "exit", 12)
    sent(me)
    other = session("my other one")
    assert (known_to_session.seen(other, job), known_to_session.reported(other, job)) == (0, {}), "mine lives"
    me.inbox.close()
    other = again(other)
    assert (known_to_session.seen(other, job), known_to_session.seen(other, job, here=True)) == (12, 0)
    assert known_to_session.reported(other, job, here=True) == {}
    known_to_session.mark_seen(other, job, 20)
    assert known_to_session.reported(other, job) == {"exit": 12}
    assert known_to_session.reported(other, job, here=True) == {}, "what another session was told"
    known_to_session.mark_reported(other, job, "output", 20)
    assert known_to_session.reported(other, job, here=True) == {"output": 20}
    resumed = session("mine")
    assert (known_to_session.seen(resumed, job, here=True), known_to_session.reported(resumed, job)) == (
        12,
        {"exit": 12},
    )
    for stranger in (session("a stranger", client="other-client"), session("elsewhere", directory="/tmp")):
        assert (known_to_session.seen(stranger, job), known_to_session.reported(stranger, job)) == (0, {})


def test_what_another_live_session_has_read_of_a_job_that_both_may_act_on_is_not_read(
    job: JobDir, me: Any, session: Session
) -> None:
    known_to_session.mark_seen(me, job, 12)
    sent(me)
    me.inbox.close()
    one, other = session("one"), session("other")
    known_to_session.mark_seen(one, job, 20)
    sent(one)
    assert known_to_session.seen(other, job) == 12


def test_who_has_no_name_leaves_no_record(store: Store, job: JobDir) -> None:
    unnamed = context_of(store)
    known_to_session.mark_seen(unnamed, job, 12)
    known_to_session.mark_reported(unnamed, job, "exit", 12)
    assert (known_to_session.seen(unnamed, job), known_to_session.reported(unnamed, job)) == (0, {})
    assert not (Path(job.path) / ".seen").exists()


def test_a_record_that_the_job_has_spoilt_says_nothing(job: JobDir, me: Any) -> None:
    known_to_session.mark_seen(me, job, 12)
    sent(me)
    (record,) = (Path(job.path) / ".seen").iterdir()
    record.write_bytes(b"\xff\xff 7\n\xff exit\n" * 9)
    assert (known_to_session.seen(me, job), known_to_session.reported(me, job)) == (0, {})
    os.unlink(record)
    (Path(job.path) / ".seen" / "no name of ours").write_bytes(b"99\n")
    assert known_to_session.seen(me, job) == 0


def test_a_record_that_a_full_disk_does_not_take_is_closed_again(
    job: JobDir, me: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "pwrite", full)
        known_to_session.mark_seen(me, job, 12)
        known_to_session.mark_reported(me, job, "exit", 12)
        sent(me)
    assert known_to_session.seen(me, job) == 0


def test_what_an_answer_showed_counts_when_it_has_been_sent(job: JobDir, me: Any, session: Session) -> None:
    known_to_session.mark_seen(me, job, 12)
    assert known_to_session.seen(me, job) == 12, "a call beside it goes on behind it"
    assert known_to_session.seen(session("mine"), job) == 0, "another server of the session does not know of it"
    sent(me)
    assert known_to_session.seen(session("mine"), job) == 12
    known_to_session.mark_seen(me, job, 20)
    known_to_session.mark_reported(me, job, "exit", 20)
    sent(me, sent=False)
    assert (known_to_session.seen(me, job), known_to_session.reported(me, job)) == (12, {})
    call = again(me)
    known_to_session.mark_seen(call, job, 20)
    notices.leave(call)
    assert known_to_session.seen(me, job) == 12
