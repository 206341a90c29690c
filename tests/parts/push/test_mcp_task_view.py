"""The figures of a task: how long it stays, and how often to ask."""

from __future__ import annotations

import time
from typing import Any

from outlive import config
from outlive.core.records import Definition, State
from outlive.parts.push import task_view
from outlive.store.inspection.inspection import Inspection

DAY_MS = 86_400_000


def look(created_at: str, **state: Any) -> Inspection:
    return Inspection(Definition(created_at=created_at), State(**state), supervised=True)


class Settings:
    """As much of a context as these need."""

    config = config.load({"XDG_CONFIG_HOME": "/nonexistent", "OUTLIVE_GC_OLDER_THAN": "2d"})


SETTINGS: Any = Settings()


def test_a_task_stays_for_the_retention_counted_from_its_end() -> None:
    ended = look("2026-01-01T00:00:00.000Z", state="exited", finished_at="2026-01-01T00:00:01.500Z")
    assert task_view._ttl_ms(SETTINGS, ended) == 2 * DAY_MS + 1_500


def test_a_task_that_runs_for_longer_than_the_retention_is_not_taken_for_dead() -> None:
    running = look("2020-01-01T00:00:00.000Z")
    age_ms = (time.time() - 1_577_836_800) * 1000
    assert task_view._ttl_ms(SETTINGS, running) >= age_ms + 2 * DAY_MS - 1


def test_an_older_task_is_asked_for_less_often_within_bounds() -> None:
    rows: list[tuple[int, int]] = [(0, 1_000), (5, 1_000), (20, 2_000), (100_000, 5_000)]
    for age_s, wanted in rows:
        assert task_view.poll_interval_ms(age_s * 1000) == wanted


def test_a_damaged_record_is_final_only_if_nobody_will_write_it_anew() -> None:
    broken = State(state="unknown", message="state.json: rubbish")
    assert task_view._status(Inspection(Definition(), broken, supervised=True)) == "working"
    assert task_view._status(Inspection(Definition(), broken)) == "failed"


def test_only_a_request_to_kill_cancels() -> None:
    rows: list[tuple[str, str, str]] = [
        ("exited", "exit", "completed"),
        ("exited", "kill", "cancelled"),
        ("killed", "kill", "cancelled"),
        ("killed", "timeout", "completed"),
        ("killed", "signal", "completed"),
        ("failed", "reboot", "completed"),
    ]
    for state, reason, status in rows:
        assert task_view._status(Inspection(Definition(), State(state=state, reason=reason))) == status
