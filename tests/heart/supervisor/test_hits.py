"""Which hits of a watch the history has."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from outlive import limits
from outlive.core.records import Watch
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.events.watcher import Watcher
from support.kept import made


def test_a_watch_that_hit_too_often_is_heard_again_in_the_next_minute(tmp_path: Path) -> None:
    told: list[str] = []
    with made(tmp_path, 100_000) as job:
        log: Any = SimpleNamespace(configure=lambda _: None, has_room=True, bound=lambda: None)
        watches = Watcher(
            job.dir, EventLoop(), log, tell=lambda kind, **_: told.append(kind), on_done=lambda: told.append("done")
        )
        watches.configure([Watch(id="w1", pattern="x")])
        job.put(0, b"x\n" * (limits.HITS_A_MINUTE + 5))
        watches._look()
        assert told == ["watch_hit"] * limits.HITS_A_MINUTE
        watches._new_minute()
        assert told.pop() == "watch_suppressed"
        job.put(0, b"x\n")
        watches._look()
        watches.stop()
    assert told == ["watch_hit"] * (limits.HITS_A_MINUTE + 1)
