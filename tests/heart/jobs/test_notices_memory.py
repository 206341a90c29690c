"""What a server remembers of jobs that it told clients of: no more than is still to be told."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from outlive import limits
from outlive.config import Config
from outlive.core.ids import new_id
from outlive.core.records import Definition, State
from outlive.core.units import timestamp
from outlive.jobs import lookup
from outlive.jobs.context import Context, Principal
from outlive.jobs.told import notices
from outlive.store.inbox import ANSWERED, FOLLOWED, LEFT, PENDING, UNDER_WAY, Inbox, Told, forget_removed
from outlive.store.job_dir import JobDir
from outlive.store.new_job import NewJob
from outlive.store.root import Store
from support.contexts import context_of


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
        found.add(job)
        found.set_call(job, ANSWERED)
        yield found


def _inbox(store: Store, session: str | None = None) -> Inbox:
    return Inbox.of(store, "me", "/", session or new_id())


def _die(inbox: Inbox) -> None:
    """Do what the kernel does when a server dies."""
    inbox._let_go()
    for job_id in list(inbox._calls):
        inbox._end_call(job_id)


def _context(inbox: Inbox) -> Context:
    config = Config({("exec", "notify_on_exit_empty_success"): True}, None)
    return context_of(inbox._store, face="mcp", owner="me", client="me", inbox=inbox, config=config)


def _ended(store: Store, job: str, ago_s: int) -> None:
    at = timestamp(time.time() - ago_s)
    with JobDir.open(store, job) as found:
        found.write_state(
            State(job_id=job, state="exited", phase="done", exit_code=3, reason="exit", started_at=at, finished_at=at)
        )


def test_a_job_whose_call_is_under_way_beside_is_not_looked_at(
    store: Store, inbox: Inbox, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 200 starts at once each answer would open the others' jobs."""
    looked_at: list[str] = []

    def open_known(caller: Principal, job_id: str) -> JobDir:
        looked_at.append(job_id)
        return JobDir.open(caller.store, job_id)

    monkeypatch.setattr(lookup, "open_known", open_known)
    for begins in (inbox.begin_call, lambda _job: inbox.set_call(job, ANSWERED)):
        begins(job)
        assert not notices.collect(_context(inbox), {"job_id": new_id()}).notices
    assert looked_at == [job], "once its call was answered"


def test_what_was_not_sent_when_the_connection_ended_goes_to_the_next(store: Store, inbox: Inbox, job: str) -> None:
    ended = {"job_id": job, "state": "exited"}
    unsent = notices.collect(_context(inbox), ended)
    assert unsent
    with closing(_inbox(store)) as other:
        notices.collect(_context(other))
        assert (other.ids(), inbox.ids()) == ([], [job]), "the first connection is there"
    del unsent
    inbox.close()  # as the kernel does when the server dies
    with closing(_inbox(store)) as following:
        sent = notices.collect(_context(following))
        assert following.ids() == [job]
        assert not sent
        sent = notices.collect(_context(following), ended)
        assert sent
        sent(True)
        assert following.ids() == []


@pytest.mark.parametrize(("ago_s", "told"), [(1, 0), (60, 1), (-86_400, 1)])  # or the clock was set back
def test_the_end_of_a_task_is_told_by_a_notice_if_the_client_does_not_look(
    store: Store, inbox: Inbox, job: str, ago_s: int, told: int
) -> None:
    inbox.set_call(job, FOLLOWED)
    _ended(store, job, ago_s)
    found = notices.collect(_context(inbox)).notices
    assert len(found) == told


def test_the_end_of_a_task_is_told_at_once_when_the_client_of_the_task_is_gone(
    store: Store, inbox: Inbox, job: str
) -> None:
    inbox.set_call(job, FOLLOWED)
    _ended(store, job, 1)
    inbox.close()
    with closing(_inbox(store)) as following:
        found = notices.collect(_context(following)).notices
    assert [one["job_id"] for one in found] == [job]


@pytest.mark.parametrize("content", [b"1 1", b"", b"x", b"\xff 0 7\n", b"1 0 7 7\n"])
def test_an_entry_that_was_not_written_whole_says_nothing(store: Store, inbox: Inbox, job: str, content: bytes) -> None:
    entry = Path(store.path, PENDING, inbox.name, job)
    inbox.set_call(job, LEFT)
    claim = inbox.claim(job)
    assert claim is not None
    claim.tell(Told(end=True, offset=7))
    claim.close()
    assert inbox.told(job) == Told(LEFT, end=True, offset=7)
    entry.write_bytes(content)
    assert inbox.told(job) == Told()
    _ended(store, job, 0)
    assert [one["job_id"] for one in notices.collect(_context(inbox)).notices] == [job]


def test_of_two_connections_of_a_session_the_other_tells_nothing_meanwhile(store: Store, job: str) -> None:
    with closing(_inbox(store, "s")) as one, closing(_inbox(store, "s")) as other:
        one.add(job)
        assert other.ids() == [job]
        claim = one.claim(job)
        assert claim is not None
        assert other.claim(job) is None
        claim.close()
        assert other.ids() == [job]
    with closing(_inbox(store, "s")) as again:
        assert again.ids() == [job]
        claim = again.claim(job)
        assert claim is not None
        claim.tell(None)
        claim.close()
    assert os.listdir(Path(store.path, ".owed")) == []


def test_a_call_that_is_answered_while_a_hit_is_told_stays_answered(store: Store, job: str) -> None:
    with closing(_inbox(store)) as inbox:
        inbox.add(job)
        claim = inbox.claim(job)
        assert claim is not None
        assert claim.told.call == UNDER_WAY
        inbox.set_call(job, ANSWERED)
        claim.tell(Told(offset=9))
        claim.close()
        assert inbox.told(job) == Told(ANSWERED, end=False, offset=9)
        inbox.forget(job)


def test_a_hook_that_tells_of_a_job_keeps_it_from_the_next_session(store: Store, job: str) -> None:
    ended = _inbox(store, "s")
    ended.add(job)
    _die(ended)
    (hook,) = Inbox.all_of(store, "s")
    claim = hook.claim(job)
    assert claim is not None
    with closing(_inbox(store)) as following:
        following.arrive(lambda _: True)
        assert (hook.ids(), following.ids()) == ([job], [])
    claim.close()
    with closing(_inbox(store)) as following:
        following.arrive(lambda _: True)
        assert (hook.ids(), following.ids()) == ([], [job])
        told = following.told(job)
        assert told is not None
        assert told.call == LEFT, "the call that started it was never answered"


def test_a_job_whose_end_an_answer_told_is_forgotten(inbox: Inbox, store: Store, job: str) -> None:
    ctx = _context(inbox)
    assert notices.collect(ctx).notices == []
    assert job in inbox.inspected
    sent = notices.known(ctx, {"job_id": job, "state": "exited"})
    assert sent
    sent(True)
    assert not inbox.inspected
    assert inbox.ids() == []


def test_a_job_that_was_removed_is_forgotten(inbox: Inbox, store: Store, job: str) -> None:
    ctx = _context(inbox)
    assert notices.collect(ctx).notices == []
    os.rename(Path(store.path, job), Path(store.path, ".gc-" + job))
    assert notices.collect(ctx).notices == []
    assert not inbox.inspected
    os.rename(Path(store.path, ".gc-" + job), Path(store.path, job))


def test_a_session_that_comes_back_learns_that_its_call_was_not_answered(store: Store, job: str) -> None:
    """Also where it takes a notice of another session first: that makes its own inbox a live one."""
    first, second = sorted(("a", "b"), key=lambda session: _inbox(store, session).name)
    other = new_id()
    for session, started in ((first, other), (second, job)):
        ended = _inbox(store, session)
        ended.add(started)
        _die(ended)
    with closing(_inbox(store, second)) as again:
        again.arrive(lambda _: True)
        assert sorted(again.ids()) == sorted((other, job))
        for one in (other, job):
            told = again.told(one)
            assert told is not None
            assert told.call == LEFT
            again.forget(one)


def test_a_disk_that_is_full_when_the_client_is_named_leaves_the_session_its_lock(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with closing(Inbox(store, "a.b", takes=True, host=(1, 2))) as found:
        with monkeypatch.context() as patched:
            patched.setattr(os, "pwrite", full)
            found.arrive(lambda _: True)
        assert found.host() is None
        with pytest.raises(OSError), Inbox(store, "a.b").ended():
            pass
    assert Inbox.every(store) == []


def test_only_what_is_owed_of_jobs_that_are_long_gone_is_forgotten(store: Store, job: str, inbox: Inbox) -> None:
    """gc does it. A job that is in the making has an entry, and no directory that anybody sees."""
    gone, young = new_id(), new_id()
    for one in (gone, young):
        inbox.add(one)
    for path in Path(store.path, PENDING).glob("*/*"):
        if path.name in (job, gone):
            os.utime(path, (time.time() - 2 * limits.TMP_AGE_S,) * 2)
    forget_removed(store)
    assert set(inbox.ids()) == {job, young}
