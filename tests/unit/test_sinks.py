"""Notification commands that wait for their turn."""

from __future__ import annotations

import itertools
import json
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from outlive import limits
from outlive.store.history import LEFT_OUT
from outlive.store.job_dir import COMPLETION, NOTIFICATIONS, JobDir
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.events import sinks


class Fake:
    """Sinks whose commands are never really run. `said` has what became of each, `done` how often all were done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pids = itertools.count(1)
        monkeypatch.setattr(sinks._Lane, "_spawn", lambda *_: next(pids))
        monkeypatch.setattr(sinks._Lane, "kill", lambda _: None)
        self.said: list[str] = []
        self.done = 0
        job: Any = SimpleNamespace(open_file=self._no_file, path="/nowhere")
        self.sinks = sinks.Sinks(job, EventLoop(), SimpleNamespace(), self._check, self._tell)  # type: ignore[arg-type]

    def _no_file(self, *_: Any) -> int:
        raise OSError

    def _check(self) -> None:
        self.done += not self.sinks.busy

    def _tell(self, _: str, **content: Any) -> None:
        self.said.append(content.get("error") or "delivered")

    def hit(self) -> None:
        self.sinks.matched({"event_type": sinks.MATCHED, "watch": "w1"}, "/", "slow", None)

    def end(self, *, too_long: bool) -> None:
        (pid,) = self.sinks.pids
        if too_long:
            self.sinks._lanes[1]._overdue()
        self.sinks.reaped(pid, signal.SIGKILL if too_long else 0)


@pytest.mark.parametrize("content", [None, b"", b"[]", b'{"delivered": fal', b"7\n"])
def test_a_record_of_the_end_that_says_nothing_does_not_end_the_supervisor(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / COMPLETION).write_bytes(content)
    fake = Fake(monkeypatch)
    fake.sinks._job.fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    assert fake.sinks._was_delivered() is None
    os.close(fake.sinks._job.fd)


def test_a_command_that_takes_too_long_too_often_is_not_run_for_those_that_wait_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = Fake(monkeypatch)
    for _ in range(10):
        fake.hit()
    for _ in range(limits.SINK_STRIKES):
        fake.end(too_long=True)
    assert not fake.sinks.busy
    assert fake.done
    assert len(fake.said) == 10
    assert sum(one.startswith("not run") for one in fake.said) == 10 - limits.SINK_STRIKES


def test_one_that_had_no_place_in_the_queue_forgives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake(monkeypatch)
    for _ in range(limits.SINK_QUEUE + 1):
        fake.hit()
    for _ in range(limits.SINK_STRIKES):
        fake.hit()
        fake.hit()
        fake.end(too_long=True)
    assert not fake.sinks.busy


def test_a_command_that_ends_in_time_is_run_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake(monkeypatch)
    for _ in range(3):
        fake.hit()
    for _ in range(3):
        assert fake.sinks.busy
        fake.end(too_long=False)
    assert fake.said == ["delivered"] * 3
    assert not fake.sinks.busy


# --- the record of deliveries ----------------------------------------------------------------------------------------


def test_the_record_is_bounded_and_keeps_what_is_not_delivered_yet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(limits, "EVENTS_BYTES", 8_192)
    fake = Fake(monkeypatch)
    told: list[dict[str, Any]] = []
    fake.sinks._tell = lambda kind, **content: told.append({"type": kind, **content})
    with JobDir(str(tmp_path), "", os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)) as job:
        fake.sinks._job = job
        event = {"event_type": sinks.MATCHED, "watch": "w1", "line": "x" * 60}
        fake.sinks._record({**event, "seq": 0}, None)
        for seq in range(1, 500):
            fake.sinks._record({**event, "seq": seq}, [])
            assert (tmp_path / NOTIFICATIONS).stat().st_size <= limits.EVENTS_BYTES
        note, first, *rest = map(json.loads, (tmp_path / NOTIFICATIONS).read_text(encoding="utf-8").splitlines())
    assert (note["event_type"], note["count"]) == (LEFT_OUT, 500 - 1 - len(rest))
    assert (first["seq"], first["delivered"]) == (0, False)
    assert [one["seq"] for one in rest] == list(range(500 - len(rest), 500))
    assert told[-1] == {"type": LEFT_OUT, "file": NOTIFICATIONS, "count": note["count"]}
