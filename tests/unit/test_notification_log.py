"""The record of the hits of watches and of their deliveries: one line a hit."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outlive import limits
from outlive.store.history import LEFT_OUT
from outlive.store.job_dir import NOTIFICATIONS, JobDir
from outlive.supervisor.events.notification_log import NotificationLog

TARGETS = {"file": "hits", "command": 'say "it\'s é"'}
FILE = {"file": TARGETS["file"]}
OK = {"success": True, "attempted_at": "2026-11-22T00:00:00.000Z"}


@pytest.fixture
def job(tmp_path: Path) -> Iterator[JobDir]:
    with JobDir(str(tmp_path), "", os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)) as found:
        yield found


def event(seq: int, **more: Any) -> dict[str, Any]:
    return {"watch": "w1", "pattern": "x", "seq": seq, "line": '"delivery_results": [', **more}


def result(kind: str, **more: Any) -> Any:
    return {"sink_type": kind, "target": TARGETS[kind], **OK, **more}


def lines(job: JobDir) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(job.path) / NOTIFICATIONS).read_text(encoding="utf-8").splitlines()]


def log(job: JobDir, told: list[dict[str, Any]] | None = None) -> NotificationLog:
    found = told if told is not None else []
    return NotificationLog(job, lambda kind, **content: found.append({"type": kind, **content}))


def test_a_hit_is_one_line_before_and_after_its_delivery(job: JobDir) -> None:
    record = log(job)
    deliveries = [record.add(event(seq), TARGETS) for seq in range(3)]
    assert [(line["seq"], line["delivered"], line["delivery_results"]) for line in lines(job)] == [
        (seq, False, []) for seq in range(3)
    ]
    told = [result("file")]
    deliveries[1].add(told[0])
    assert (lines(job)[1]["delivered"], lines(job)[1]["delivery_results"]) == (False, told)
    told.append(result("command", exit_code=0))
    deliveries[1].add(told[1])
    assert (lines(job)[1]["delivered"], lines(job)[1]["delivery_results"]) == (True, told)
    assert [line["delivered"] for line in lines(job)] == [False, True, False]


def test_what_was_not_delivered_to_every_sink_is_not_called_delivered(job: JobDir) -> None:
    delivery = log(job).add(event(0), {"command": TARGETS["command"]})
    delivery.add(result("command", success=False, exit_code=5, error="e" * 9_999))
    (line,) = lines(job)
    assert (line["delivered"], line["delivery_results"][0]["exit_code"]) == (False, 5)


def test_a_successor_learns_what_is_left_to_do(job: JobDir) -> None:
    record = log(job)
    deliveries = [record.add(event(seq), TARGETS) for seq in range(4)]
    deliveries[0].add(result("file"))
    deliveries[0].add(result("command"))
    deliveries[1].add(result("file"))
    with (Path(job.path) / NOTIFICATIONS).open("ab") as file:
        file.write(b'{"watch": "w1", "se')  # its writer was killed
    successor = log(job)
    known, undelivered = successor.load()
    assert known == {("w1", "x", seq) for seq in range(4)}
    for delivery in undelivered:
        delivery.targets = TARGETS
    assert [(one.event["seq"], [*one.left]) for one in undelivered] == [
        (1, ["command"]),
        (2, ["file", "command"]),
        (3, ["file", "command"]),
    ]
    for delivery in undelivered:
        for kind in delivery.left:
            delivery.add(result(kind))
    successor.add(event(9), {})
    whole = (Path(job.path) / NOTIFICATIONS).read_text(encoding="utf-8").splitlines()
    assert [json.loads(whole[number])["delivered"] for number in (0, 1, 2, 3)] == [True] * 4
    assert json.loads(whole[5])["seq"] == 9


def test_a_line_without_room_for_its_results_gets_a_second_one(job: JobDir) -> None:
    short = {**event(0), "delivery_results": [], "delivered": False}
    (Path(job.path) / NOTIFICATIONS).write_text(json.dumps(short) + "\n", encoding="utf-8")
    record = log(job)
    (delivery,) = record.load()[1]
    delivery.targets = FILE
    delivery.add(result("file"))
    assert [line["delivered"] for line in lines(job)] == [False, True]
    assert log(job).load()[1] == []


def test_the_record_is_bounded_and_keeps_what_is_not_delivered_yet(
    monkeypatch: pytest.MonkeyPatch, job: JobDir
) -> None:
    monkeypatch.setattr(limits, "EVENTS_BYTES", 16_384)
    told: list[dict[str, Any]] = []
    record = log(job, told)
    deliveries = [record.add(event(0), FILE)]
    for seq in range(1, 500):
        deliveries.append(record.add(event(seq), FILE))
        if seq != 497:
            deliveries[seq].add(result("file"))
        record.bound()
        assert (Path(job.path) / NOTIFICATIONS).stat().st_size <= limits.EVENTS_BYTES
    note, first, *rest = lines(job)
    assert (note["event_type"], note["count"]) == (LEFT_OUT, 500 - 1 - len(rest))
    assert (first["seq"], first["delivered"]) == (0, False)
    assert [one["seq"] for one in rest] == list(range(500 - len(rest), 500))
    assert told[-1] == {"type": LEFT_OUT, "file": NOTIFICATIONS, "count": note["count"]}
    for seq in (0, 497):
        deliveries[seq].add(result("file"))
    assert all(line["delivered"] for line in lines(job)[1:])
