"""The table of a supervisor: event × phase → action."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.supervisor import Event, Phase, Supervisor


def values(names: type) -> list[Any]:
    return [value for name, value in vars(names).items() if not name.startswith("_")]


@pytest.fixture
def supervisor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A supervisor with a table and without a job. `done` has the actions that it took."""
    made: Any = object.__new__(Supervisor)
    made.done = []
    for name in ("_settle", "_child_died", "_check_done", "_time_out", "_idle", "_progress", "_after_end"):
        monkeypatch.setattr(made, name, lambda name=name: made.done.append(name), raising=False)
    made._loop = EventLoop()
    made._control = made._record = SimpleNamespace(state=None, sync_start=None)
    made._set_table()
    yield made
    made._loop.close()


def test_each_event_has_an_action_in_each_phase(supervisor: Any) -> None:
    assert sorted(values(Phase)) == [0, 1, 2, 3]
    assert set(supervisor._table) == set(values(Event))
    assert all(len(actions) == len(values(Phase)) for actions in supervisor._table.values())


@pytest.mark.parametrize(
    ("event", "phases"),
    [
        (Event.UNHEARD, {Phase.ENDED: "_after_end"}),
        (Event.LOOK, {Phase.LINGERING: "_check_done"}),
        (Event.TIMEOUT, {Phase.RUNNING: "_time_out"}),
        (Event.COMMAND_ENDED, {Phase.RUNNING: "_settle", Phase.UNWRITTEN: "_settle"}),
    ],
)
def test_an_event_means_something_in_its_phases_alone(supervisor: Any, event: str, phases: dict[int, str]) -> None:
    for phase in values(Phase):
        supervisor._phase = phase
        supervisor.event(event)
    assert supervisor.done == list(phases.values())
