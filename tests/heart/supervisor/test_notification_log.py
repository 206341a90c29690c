"""The record of the hits of watches and of their deliveries: one line a hit, and the queue of the commands."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from outlive import limits
from outlive.core.records import Watch
from outlive.store.history import LEFT_OUT
from outlive.store.job_dir import NOTIFICATIONS, JobDir
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.events import notification_log, sinks
from outlive.supervisor.events.watcher import Watcher
from support.kept import made

COMMAND = 'say "it\'s é"'


class Queue:
    """A log, and sinks whose commands are never really run. `ran`: the positions whose command was run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, job: JobDir, **targets: Any) -> None:
        self._pids = itertools.count(1)
        self.ran: list[int] = []
        self.told: list[dict[str, Any]] = []
        monkeypatch.setattr(sinks._Command, "_spawn", lambda _, event, __: self._spawned(event))
        request: Any = SimpleNamespace(root="/nowhere", own=[], definition=SimpleNamespace(sandbox=None, name=None))
        self.sinks = sinks.Sinks(job, EventLoop(), request, lambda: self._next(), self._tell)  # noqa: PLW0108
        monkeypatch.setattr(self.sinks, "end_predecessors", lambda: self.told.append({"type": "ended before"}))
        self.log = notification_log.NotificationLog(job, request.definition, self.sinks, self._tell)
        self.log.configure([Watch(id="w1", pattern="x", **targets)])

    def _next(self) -> None:
        self.log.deliver()

    def _spawned(self, event: dict[str, Any]) -> int:
        self.ran.append(event["seq"])
        return next(self._pids)

    def _tell(self, kind: str, **content: Any) -> None:
        self.told.append({"type": kind, **content})

    def add(self, *numbers: int) -> None:
        for seq in numbers:
            self.log.add(
                {"watch": "w1", "pattern": "x", "stream": "stdout", "seq": seq, "line": '"delivery_results": ['}
            )

    def end(self, status: int = 0) -> None:
        """The command that runs ends."""
        (pid,) = self.sinks.pids
        self.sinks.reaped(pid, status)


@pytest.fixture
def job(tmp_path: Path) -> Iterator[JobDir]:
    with JobDir(str(tmp_path), "", os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)) as found:
        yield found


def lines(job: JobDir) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(job.path) / NOTIFICATIONS).read_text(encoding="utf-8").splitlines()]


def in_file(path: Path) -> list[int]:
    return [json.loads(line)["seq"] for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_hit_is_one_line_before_and_after_its_delivery(
    monkeypatch: pytest.MonkeyPatch, job: JobDir, tmp_path: Path
) -> None:
    hits = tmp_path / "hits"
    queue = Queue(monkeypatch, job, file=str(hits), command=COMMAND)
    queue.add(0, 1, 2)
    assert in_file(hits) == [0, 1, 2], "a file waits for no command"
    assert queue.ran == [0]
    assert [
        (one["seq"], one["delivered"], [result["sink_type"] for result in one["delivery_results"]])
        for one in lines(job)
    ] == [(seq, False, ["file"]) for seq in range(3)]
    queue.end()
    queue.end()
    assert queue.ran == [0, 1, 2]
    assert [one["delivered"] for one in lines(job)] == [True, True, False]
    queue.end()
    assert [[result["sink_type"] for result in one["delivery_results"]] for one in lines(job)] == [
        ["file", "command"]
    ] * 3
    assert not queue.sinks.busy


def test_what_was_not_delivered_to_every_sink_is_not_called_delivered(
    monkeypatch: pytest.MonkeyPatch, job: JobDir
) -> None:
    queue = Queue(monkeypatch, job, command=COMMAND)
    queue.add(0)
    queue.end(5 << 8)
    (line,) = lines(job)
    assert (line["delivered"], line["delivery_results"][0]["exit_code"]) == (False, 5)
    queue.log.deliver()
    assert queue.ran == [0], "it is tried once"


def test_a_successor_delivers_what_is_left(monkeypatch: pytest.MonkeyPatch, job: JobDir, tmp_path: Path) -> None:
    hits = tmp_path / "hits"
    first = Queue(monkeypatch, job, file=str(hits), command=COMMAND)
    first.add(0, 1, 2)
    first.end()
    monkeypatch.setattr(sinks.Sinks, "to_file", lambda *_: None)  # it is killed before
    first.add(3)
    monkeypatch.undo()
    with (Path(job.path) / NOTIFICATIONS).open("ab") as file:
        file.write(b'{"watch": "w1", "se')  # its writer was killed
    successor = Queue(monkeypatch, job, file=str(hits), command=COMMAND)
    assert not any(
        successor.log.known.add({"watch": "w1", "pattern": "x", "stream": "stdout", "seq": seq}) for seq in range(4)
    )
    assert successor.told[0] == {"type": "ended before"}, "the command that ran would run beside itself"
    assert in_file(hits) == [0, 1, 2, 3], "a file does not wait"
    successor.add(9)
    for _ in range(4):
        successor.end()
    assert successor.ran == [1, 2, 3, 9]
    whole = (Path(job.path) / NOTIFICATIONS).read_text(encoding="utf-8").splitlines()
    assert [json.loads(whole[number])["delivered"] for number in (0, 1, 2, 3, 5)] == [True] * 5
    assert Queue(monkeypatch, job, command=COMMAND).ran == []


def test_a_sink_that_a_watch_gets_later_is_not_for_earlier_hits(monkeypatch: pytest.MonkeyPatch, job: JobDir) -> None:
    Queue(monkeypatch, job).add(0, 1)
    successor = Queue(monkeypatch, job, command=COMMAND)
    successor.add(2)
    assert successor.ran == [2]


def test_a_watch_that_was_removed_runs_no_command_that_waits(monkeypatch: pytest.MonkeyPatch, job: JobDir) -> None:
    queue = Queue(monkeypatch, job, command=COMMAND)
    queue.add(0, 1)
    queue.log.configure([])
    queue.end()
    assert queue.ran == [0]
    assert lines(job)[1]["delivery_results"][0]["error"] == "not run: its watch was removed"
    queue.log.configure([Watch(id="w1", pattern="y", command=COMMAND)])
    queue.add(2)
    assert queue.ran == [0, 2]


def test_a_hit_that_a_full_disk_does_not_take_is_delivered_in_its_turn(
    monkeypatch: pytest.MonkeyPatch, job: JobDir
) -> None:
    queue = Queue(monkeypatch, job, command=COMMAND)
    queue.add(0)
    with monkeypatch.context() as full:
        full.setattr(notification_log.NotificationLog, "_append", lambda *_: None)
        queue.add(1)
    queue.add(2)
    assert [one["seq"] for one in lines(job)] == [0], "the order counts more than the record"
    for _ in range(3):
        queue.end()
    assert queue.ran == [0, 1, 2]
    queue.add(3)
    assert [one["seq"] for one in lines(job)] == [0, 3]


@pytest.mark.parametrize("content", [b"", b"[]\n7\n", b'{"watch": "w1", "seq": 1, "delivery_results": 7} \n'])
def test_a_record_that_was_spoilt_holds_up_no_later_hit(
    monkeypatch: pytest.MonkeyPatch, job: JobDir, content: bytes
) -> None:
    queue = Queue(monkeypatch, job, command=COMMAND)
    queue.add(0, 1)
    (Path(job.path) / NOTIFICATIONS).write_bytes(content)
    queue.end()
    queue.add(2)
    assert queue.ran == [0, 2]
    assert queue.log.has_room


def test_the_record_is_bounded_and_keeps_what_is_not_delivered_yet(
    monkeypatch: pytest.MonkeyPatch, job: JobDir
) -> None:
    monkeypatch.setattr(limits, "EVENTS_BYTES", 16_384)
    queue = Queue(monkeypatch, job, command=COMMAND)
    seq = 0
    for _ in range(20):
        while queue.log.has_room:
            queue.add(seq)
            seq += 1
            queue.log.bound()
        assert queue.ran[-1] < seq - 5, "some wait"
        assert (Path(job.path) / NOTIFICATIONS).stat().st_size <= limits.EVENTS_BYTES
        for _ in range(5):
            queue.end()
    while queue.sinks.busy:
        queue.end()
    assert queue.ran == list(range(seq)), "each in its turn"
    note, *rest = lines(job)
    assert (note["event_type"], note["count"]) == (LEFT_OUT, seq - len(rest))
    assert [one["seq"] for one in rest] == list(range(seq - len(rest), seq))
    assert all(line["delivered"] for line in rest)
    assert [one for one in queue.told if one["type"] == LEFT_OUT][-1] == {
        "type": LEFT_OUT,
        "file": NOTIFICATIONS,
        "count": note["count"],
    }


def test_a_search_waits_when_too_many_hits_wait_and_finds_each_line_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(limits, "EVENTS_BYTES", 65_536)
    lines = 600
    with made(tmp_path, 10**6) as kept:
        queue = Queue(monkeypatch, kept.dir, command=COMMAND)
        watches = Watcher(kept.dir, EventLoop(), queue.log, tell=queue._tell, on_done=lambda: None)
        watches.configure([Watch(id="w1", pattern="x", command=COMMAND)])
        monkeypatch.setattr(queue, "_next", watches.go_on)
        kept.put(0, b"x\n" * lines)
        held = 0
        while queue.sinks.busy or watches._next_slice.is_set:
            if watches._next_slice.is_set:
                watches._next_slice.cancel()
                watches._look()
            held += watches._held
            if queue.sinks.busy:
                queue.end()
        watches.stop()
    assert held
    assert queue.ran == [number * 2 for number in range(lines)]
