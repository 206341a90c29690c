"""Who calls, and what one call finds out: two records."""

from __future__ import annotations

import pytest

from outlive.jobs.context import Context, Principal
from outlive.store.root import Store
from support.contexts import caller_of


@pytest.fixture
def caller(store: Store) -> Principal:
    return caller_of(store, face="mcp", client="tests", shell_words=lambda: ("sh", "-c"))


@pytest.mark.parametrize("name", list(Principal.FIELDS))
def test_no_call_changes_who_calls(caller: Principal, name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(caller, name, None)
    if hasattr(Context, name):
        with pytest.raises(AttributeError):
            setattr(Context(caller), name, None)


def test_what_a_call_finds_out_is_not_in_the_next_call_of_its_caller(caller: Principal) -> None:
    first, second = Context(caller, "run"), Context(caller, "wait", detail="brief")
    first.warnings.append("a warning")
    first.of_others["J"] = "another"
    first.ended_sessions["s"] = True
    first.awaited.append("J")
    assert (second.warnings, second.of_others, second.ended_sessions, second.awaited) == ([], {}, {}, [])


def test_a_caller_that_observes_moves_no_read_position_and_is_else_the_same(caller: Principal) -> None:
    assert caller.shell == ("sh", "-c")
    observer = caller.changed(client=None)
    assert (caller.client, observer.client) == ("tests", None)
    rest = [{**{name: vars(one)[name] for name in Principal.FIELDS}, "client": None} for one in (caller, observer)]
    assert rest[0] == rest[1]
