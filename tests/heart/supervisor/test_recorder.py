"""What a supervisor records beside the state."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from outlive.core.records import State
from outlive.store import history
from outlive.store.inspection import adoptions
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.events.recorder import EventRecorder
from support.kept import made


def test_a_supervisor_that_lives_after_its_adoption_ends_the_count_of_those_that_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adoptions, "SURVIVED_S", 0.0)
    request: Any = SimpleNamespace(parts={})
    loop = EventLoop()
    with made(tmp_path, 0) as job:
        recorder = EventRecorder(job.dir, loop, request, end=lambda: 0, on_event=lambda: None, on_idle=lambda: None)
        adoptions.record(job.dir, adoptions.MOST - 1)
        recorder.begin(State(adopted=1))
        loop.timer(loop.stop).after(0.01)
        loop.run()
        assert adoptions.count(job.dir) == 0
        recorder.close()
    loop.close()


def test_an_event_of_another_machine_may_have_any_members(tmp_path: Path) -> None:
    request: Any = SimpleNamespace(parts={})
    loop = EventLoop()
    with made(tmp_path, 0) as job:
        recorder = EventRecorder(job.dir, loop, request, end=lambda: 0, on_event=lambda: None, on_idle=lambda: None)
        members: dict[str, Any] = {"seq": 3, "kind": "x", "self": "y"}
        recorder.tell("made up", **members)
        recorder.close()
        (event,), _ = history.read(job.dir)
        assert (event["type"], event["seq"], event["kind"], event["self"]) == ("made up", 3, "x", "y")
    loop.close()
