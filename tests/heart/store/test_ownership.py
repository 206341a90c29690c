"""Whose a job is: of a session, of an ended one of the same client in the same directory, of another, of a person."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from outlive.core.labels import Origin
from outlive.jobs.context import Context
from outlive.jobs.told import ownership
from outlive.store.inbox import Inbox
from outlive.store.root import Store
from support.contexts import context_of


def call(store: Store, inbox: Inbox | None, face: str = "mcp", **env: str) -> Context:
    return context_of(store, inbox=inbox, face=face, env=env, cwd="/here", owner="codex")


def inbox(store: Store, session: str, client: str = "codex", directory: str = "/here") -> Inbox:
    return Inbox.of(store, client, directory, session)


def job(session: Inbox | None, owner: str = "codex") -> Origin:
    return Origin(None, owner, "/here", None if session is None else session.name)


def test_a_job_is_of_its_session_in_every_directory_and_of_its_successors_in_that_one(store: Store) -> None:
    with ExitStack() as until_its_end:
        mine, theirs, cd = inbox(store, "mine"), inbox(store, "theirs"), inbox(store, "mine", directory="/elsewhere")
        for one in (mine, theirs):
            one.arrive(lambda _: True)
            until_its_end.callback(one.close)
        ctx = call(store, mine)
        assert ownership.is_own(ctx, job(mine))
        assert ownership.is_own(ctx, job(cd))
        assert ownership.whose(ctx, job(mine)) is None
        assert not ownership.is_own(ctx, job(theirs))
        assert ownership.whose(ctx, job(theirs)) == f"codex (session {theirs.name.partition('.')[2][:8]})"
        assert ownership.is_own(ctx, job(inbox(store, "ended")))
        for other in (inbox(store, "ended", client="claude-code"), inbox(store, "ended", directory="/elsewhere")):
            assert not ownership.is_own(ctx, job(other))
        assert not ownership.is_own(ctx, job(None, owner="cli"))
        assert ownership.whose(ctx, job(None, owner="cli")) == "the command line"
        theirs.close()
        assert ownership.is_own(call(store, mine), job(theirs)), "it has ended"


def test_a_session_that_has_jobs_in_two_directories_lives_where_its_connection_is(store: Store) -> None:
    mine, theirs = inbox(store, "mine", directory="/there"), inbox(store, "theirs")
    theirs.arrive(lambda _: True)
    assert not ownership.is_own(call(store, mine), job(inbox(store, "theirs", directory="/there")))
    theirs.close()
    assert ownership.is_own(call(store, mine), job(inbox(store, "theirs", directory="/there")))


def test_a_person_reaches_every_job_and_the_shell_of_an_agent_is_its_session(store: Store) -> None:
    theirs = inbox(store, "theirs", client="claude-code")
    assert ownership.session_of(call(store, None).caller) is None
    for person in (call(store, None), call(store, None, "cli"), call(store, None, "cli", CLAUDE_CODE_SESSION_ID="")):
        assert ownership.is_own(person, job(theirs))
        assert ownership.is_own(person, job(None))
    shell = call(store, None, "cli", CLAUDE_CODE_SESSION_ID="theirs")
    assert ownership.session_of(shell.caller) == theirs.name
    assert not ownership.is_own(shell, job(None))


def test_the_end_of_a_job_is_recorded_under_a_name_that_tells_two_windows_apart(store: Store) -> None:
    mine, theirs = inbox(store, "mine"), inbox(store, "theirs")
    assert ownership.actor(call(store, mine).caller, job(mine)) == "codex"
    assert ownership.actor(call(store, mine).caller, job(None)) == "codex"
    by = ownership.actor(call(store, mine).caller, job(theirs))
    assert by == f"codex (session {ownership.shown(mine.name)})"
    assert ownership.actor(call(store, None).caller, job(theirs)) == "codex"


def test_a_session_is_looked_at_once_in_a_call_and_the_own_one_never(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    def has_connection(_: Store, name: str) -> bool:
        looked.append(name)
        return False

    monkeypatch.setattr(ownership, "has_connection", has_connection)
    mine, ended, stranger = inbox(store, "mine"), inbox(store, "ended"), inbox(store, "ended", client="stranger")
    ctx = call(store, mine)
    jobs = [job(one) for one in (mine, ended, stranger) for _ in range(500)]
    assert sum(ownership.is_own(ctx, one) for one in jobs) == 1000
    assert looked == [ended.name]
