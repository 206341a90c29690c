"""Notification commands that wait for their turn."""

from __future__ import annotations

import itertools
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from outlive import limits
from outlive.core import real_path
from outlive.store.job_dir import COMPLETION
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.events import sinks
from outlive.system import workspaces


class Fake:
    """Sinks whose commands are never really run. `said` has what became of each, `waiting` those whose turn comes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pids = itertools.count(1)
        monkeypatch.setattr(sinks._Command, "_spawn", lambda *_: next(pids))
        monkeypatch.setattr(sinks._Command, "kill", lambda _: None)
        self.said: list[str] = []
        self.waiting: list[sinks.Delivery] = []
        job: Any = SimpleNamespace(path="/nowhere")
        meta: Any = SimpleNamespace(definition={"cwd": "/"})
        self.sinks = sinks.Sinks(job, EventLoop(), meta, self._next, self._tell)

    def _next(self) -> None:
        while self.sinks.is_free and self.waiting:
            self.sinks.deliver(self.waiting.pop(0))

    def _tell(self, _: str, **content: Any) -> None:
        self.said.append(content.get("error") or "delivered")

    def hit(self) -> None:
        event = {"event_type": sinks.MATCHED, "watch": "w1"}
        self.waiting.append(sinks.Delivery(event, {sinks.COMMAND: "slow"}, [], lambda _: None))
        self._next()

    def end(self, *, too_long: bool) -> None:
        (pid,) = self.sinks.pids
        if too_long:
            self.sinks._hits._overdue()
        self.sinks.reaped(pid, signal.SIGKILL if too_long else 0)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, [b'{"watch": "w1"}']),
        (b'{"watch": "w0"}\n', [b'{"watch": "w0"}', b'{"watch": "w1"}']),
        (b'{"watch": "w', [b'{"watch": "w', b'{"watch": "w1"}']),
    ],
)
def test_an_event_has_a_line_of_its_own_behind_one_that_was_cut(
    tmp_path: Path, before: bytes | None, after: list[bytes]
) -> None:
    """A supervisor was killed in the middle of its write, or the disk was full."""
    path = tmp_path / "hits"
    if before is not None:
        path.write_bytes(before)
    assert sinks.append({"watch": "w1"}, str(path), ["/nowhere"])["success"]
    assert path.read_bytes() == b"".join(line + b"\n" for line in after)


def test_a_file_that_may_only_be_written_gets_its_event(tmp_path: Path) -> None:
    here, there = os.pipe()
    try:
        assert sinks.append({"watch": "w1"}, f"/proc/self/fd/{there}", ["/nowhere"])["success"]
        assert os.read(here, 100) == b'{"watch": "w1"}\n'
    finally:
        os.close(here)
        os.close(there)


@pytest.mark.parametrize(
    "way", ["file", "directory", "dangling", "meanwhile", "meanwhile, above", "meanwhile, the file"]
)
def test_an_event_is_not_written_where_a_link_of_a_job_leads(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    work, outside = tmp_path / "writable", tmp_path / "outside"
    for folder in (work, outside):
        folder.mkdir()
    (outside / "file").write_text("mine\n", encoding="utf-8")
    (work / "own").mkdir()
    workspaces.note([str(work)], os.environ)
    (work / "file").symlink_to(outside / "file")
    (work / "directory").symlink_to(outside)
    (work / "dangling").symlink_to(outside / "new" / "file")
    path = {"directory": "directory/file", "meanwhile": "own/file", "meanwhile, above": "own/new/file"}.get(way, way)
    if way.startswith("meanwhile"):
        path, target = (path, outside) if way != "meanwhile, the file" else ("own", outside / "new")

        def looked_at(path: str) -> tuple[str | None, list[str]]:
            found = real_path.followed(path)
            (work / "own").rmdir()
            (work / "own").symlink_to(target)
            return found

        monkeypatch.setattr(sinks, "followed", looked_at)
    told = sinks.append({"event": 1}, str(work / path), [str(tmp_path / "state" / "outlive")])
    assert not told["success"] and "link" in told["error"], told
    assert (outside / "file").read_text(encoding="utf-8") == "mine\n"
    assert not (outside / "new").exists()


def test_a_link_that_no_job_could_have_made_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert sinks.append({"event": 1}, str(tmp_path / "link"), [])["success"]
    assert (tmp_path / "file").read_text(encoding="utf-8") == '{"event": 1}\n'


@pytest.mark.parametrize("content", [None, b"", b"[]", b'{"delivered": fal', b"7\n"])
def test_a_record_of_the_end_that_says_nothing_does_not_end_the_supervisor(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / COMPLETION).write_bytes(content)
    fake = Fake(monkeypatch)
    fake.sinks._job.fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    assert fake.sinks._begun() == (False, [], 0)
    os.close(fake.sinks._job.fd)


def test_a_successor_tells_the_sinks_that_have_no_result_and_each_result_is_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = Fake(monkeypatch)
    recorded: list[tuple[list[str], bool]] = []

    def record(delivery: sinks.Delivery) -> None:
        recorded.append(([result["sink_type"] for result in delivery.results], delivery.is_delivered))

    told: Any = {"sink_type": "file", "target": "hits", "success": True, "attempted_at": ""}
    targets = {"file": "hits", "command": "slow"}
    delivery = sinks.Delivery({"event_type": sinks.MATCHED, "watch": "w1"}, targets, [told], record)
    assert (delivery.left, delivery.is_delivered) == ({"command": "slow"}, False)
    fake.sinks.deliver(delivery)
    assert recorded == []
    fake.end(too_long=False)
    assert recorded == [(["file", "command"], True)]
    assert fake.said == ["delivered"]


def test_a_command_that_takes_too_long_too_often_is_not_run_for_those_that_wait_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = Fake(monkeypatch)
    for _ in range(10):
        fake.hit()
    for _ in range(limits.SINK_STRIKES):
        fake.end(too_long=True)
    assert not fake.sinks.busy
    assert len(fake.said) == 10
    assert sum(one.startswith("not run") for one in fake.said) == 10 - limits.SINK_STRIKES


def test_the_history_has_so_many_deliveries_of_a_watch_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake(monkeypatch)
    for _ in range(limits.HITS_A_MINUTE + 5):
        fake.hit()
    while fake.sinks.busy:
        fake.end(too_long=False)
    assert fake.said == ["delivered"] * limits.HITS_A_MINUTE
    monkeypatch.setattr(sinks, "_MINUTE_S", 0)
    fake.hit()
    fake.end(too_long=False)
    assert len(fake.said) == limits.HITS_A_MINUTE + 1


def test_a_command_that_ends_in_time_is_run_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake(monkeypatch)
    for _ in range(3):
        fake.hit()
    for _ in range(3):
        assert fake.sinks.busy
        fake.end(too_long=False)
    assert fake.said == ["delivered"] * 3
    assert not fake.sinks.busy
