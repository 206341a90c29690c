"""A history that is too long: what stays of it, what says so, and who may be killed over it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from outlive import limits
from outlive.core.members import parse_json
from outlive.store import history
from outlive.store.history import History
from outlive.store.job_dir import EVENTS, JobDir
from outlive.system import fds

BOUND = 8_192


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JobDir]:
    monkeypatch.setattr(limits, "EVENTS_BYTES", BOUND)
    (tmp_path / "01").mkdir()
    with JobDir(str(tmp_path), "01", os.open(tmp_path / "01", os.O_RDONLY | os.O_DIRECTORY)) as made:
        yield made


def hit(log: History, seq: int, watch: str = "w1") -> None:
    log.add(history.WATCH_HIT, seq, watch=watch, pattern="x", match_type="regex", stream="stdout", line="x" * 80)


def flood(job: JobDir, count: int, *, then: Callable[[History], None] = lambda _: None) -> None:
    log = History(job)
    log.add(history.STARTED, 0, pid=7)
    for seq in range(count):
        hit(log, seq)
    then(log)
    log.close()


def stored(job: JobDir) -> int:
    """Bytes of lines that are in the file."""
    return len((Path(job.path) / EVENTS).read_bytes().replace(b"\0", b""))


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def as_version_0_1_reads(job: JobDir) -> list[dict[str, Any]]:
    """What readers do that know of no bound: split the whole file, and pass over what does not begin as a line does."""
    lines = (Path(job.path) / EVENTS).read_bytes().splitlines()
    return [parse_json(line) for line in lines if line.startswith(b'{"n":')]


def test_the_older_half_is_left_out_and_counted(job: JobDir) -> None:
    flood(job, 1_000)
    events, end = history.read(job)
    assert stored(job) <= BOUND + 1_000
    assert end == history.size(job)
    note = next(event for event in events if event["type"] == history.LEFT_OUT)
    assert (note["file"], note["count"]) == (EVENTS, 1_001 - (len(events) - 1))
    numbers = [event["n"] for event in events]
    assert numbers == sorted(set(numbers))
    newest = numbers[numbers.index(note["n"]) + 1 :]
    assert newest == list(range(note["n"] + 1, 1_002))
    assert as_version_0_1_reads(job)[1:] == [event for event in events if event is not note]


def test_what_became_of_the_job_stays(job: JobDir) -> None:
    def more(log: History) -> None:
        log.add(history.SIGNAL, 5, signal="SIGHUP", by="cli", cause="kill")
        hit(log, 6, watch="w2")
        for seq in range(200):
            hit(log, seq)

    flood(job, 100, then=more)
    events, _ = history.read(job)
    assert kinds(events)[:4] == [history.STARTED, history.WATCH_HIT, history.SIGNAL, history.WATCH_HIT]
    assert [event["watch"] for event in events[:4] if event["type"] == history.WATCH_HIT] == ["w1", "w2"]
    assert history.recorded(job, history.STARTED)
    assert not history.recorded(job, history.FINISHED)


def test_a_flood_of_signals_is_bounded_too(job: JobDir) -> None:
    log = History(job)
    for _ in range(1_000):
        log.add(history.SIGNAL, 5, signal="SIGHUP", by="cli", cause="kill")
    log.close()
    assert stored(job) <= BOUND + BOUND // 8 + 1_000
    events, _ = history.read(job)
    (note,) = [event for event in events if event["type"] == history.LEFT_OUT]
    assert note["count"] == 1_000 - (len(events) - 1)


def test_a_reader_that_goes_on_misses_and_repeats_nothing(job: JobDir) -> None:
    log, offset, seen = History(job), 0, []
    for seq in range(500):
        hit(log, seq)
        fresh, offset = history.read(job, offset=offset)
        seen += [event["n"] for event in fresh]
    log.close()
    assert seen == list(range(1, 501))
    assert history.read(job, offset=offset) == ([], offset)


def test_a_reader_that_was_away_is_told_how_much_it_missed(job: JobDir) -> None:
    log = History(job)
    hit(log, 0)
    _, offset = history.read(job)
    for seq in range(500):
        hit(log, seq)
    log.close()
    events, _ = history.read(job, offset=offset)
    assert kinds(events)[0] == history.LEFT_OUT
    assert [event["n"] for event in events[1:]] == list(range(events[0]["n"] + 1, 502))
    cursor = history.read(job, after=events[-3]["n"])[0]
    assert [event["n"] for event in cursor] == [500, 501]


def test_a_reader_that_was_away_gets_what_was_kept_of_what_it_missed(job: JobDir) -> None:
    log = History(job)
    log.add(history.STARTED, 0, pid=7)
    before, offset = history.read(job)
    log.add(history.ADOPTED, 0, by=8)
    for seq in range(500):
        hit(log, seq)
    log.close()
    events, _ = history.read(job, after=before[-1]["n"], offset=offset)
    assert kinds(events)[:3] == [history.ADOPTED, history.WATCH_HIT, history.LEFT_OUT]
    assert {event["n"] for event in events} == {event["n"] for event in history.read(job)[0]} - {1}


def test_the_next_writer_counts_on(job: JobDir) -> None:
    flood(job, 1_000)
    with (Path(job.path) / EVENTS).open("ab") as file:
        file.write(b'{"n":1002,"seq":0,"at":"20')
    log = History(job)
    log.add(history.FINISHED, 9)
    log.close()
    assert history.read(job)[0][-1]["n"] == 1_003


def test_a_file_of_an_older_version_is_cut_down_before_it_is_read(job: JobDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EVENTS_BYTES", 1 << 40)
    flood(job, 2_000)
    monkeypatch.setattr(limits, "EVENTS_BYTES", BOUND)
    size = history.size(job)
    log = History(job)
    assert stored(job) <= BOUND
    assert history.size(job) == size
    log.add(history.FINISHED, 9)
    log.close()
    events, _ = history.read(job)
    assert kinds(events)[0] == history.STARTED
    assert (events[-1]["type"], events[-1]["n"]) == (history.FINISHED, 2_002)
    (note,) = [event for event in events if event["type"] == history.LEFT_OUT]
    assert note["count"] == 2_002 - (len(events) - 1)


def test_a_writer_that_is_killed_over_the_copy_loses_nothing(job: JobDir, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = os.fork()
    if not writer:
        monkeypatch.setattr(os, "rename", lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
        flood(job, 1_000)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(writer, 0)[1]) == -signal.SIGKILL
    assert (Path(job.path) / history._COPY).exists()
    written = [event["n"] for event in history.read(job)[0]]
    assert written == list(range(1, len(written) + 1))
    after = History(job)
    assert not (Path(job.path) / history._COPY).exists()
    hit(after, 1)
    after.close()
    events, _ = history.read(job)
    note = next(event for event in events if event["type"] == history.LEFT_OUT)
    assert note["count"] + len(events) - 1 == len(written) + 1 == events[-1]["n"]


def test_a_full_disk_costs_the_bound_and_no_event(job: JobDir, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fds, "write_all", full)
    flood(job, 200)
    assert len(history.read(job)[0]) == 201
    assert not (Path(job.path) / history._COPY).exists()
    monkeypatch.undo()
    monkeypatch.setattr(limits, "EVENTS_BYTES", BOUND)
    log = History(job)
    log.add(history.FINISHED, 9)
    log.close()
    assert stored(job) <= BOUND


def test_the_file_is_lines_of_json_and_zeros(job: JobDir) -> None:
    flood(job, 1_000)
    for line in (Path(job.path) / EVENTS).read_bytes().replace(b"\0", b"").splitlines():
        assert not line or json.loads(line)["n"]


def test_a_first_line_that_no_writer_of_ours_made_leaves_nothing_out(job: JobDir) -> None:
    """Any program of the job may have put it there."""
    flood(job, 3)
    path = Path(job.path) / EVENTS
    whole = path.read_bytes()
    for behind in (2**70, -1, len(whole) * 2, True, "3"):
        note = {"n": 0, "seq": 0, "type": history.LEFT_OUT, "to_byte": behind}
        for first in (note, [note], [{"n": 1, "type": history.LEFT_OUT, "to_byte": 1}]):
            path.write_bytes(json.dumps(first, separators=(",", ":")).encode() + b"\n" + whole)
            assert kinds(history.read(job)[0])[-4:] == ["started", "watch_hit", "watch_hit", "watch_hit"]
            History(job).close()
