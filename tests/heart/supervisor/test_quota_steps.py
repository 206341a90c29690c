"""The supervisor's side of a quota: what it records, gives back and tells of."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outlive.store.job_dir import GAP, LOGS, ORDER
from outlive.store.output.gap import NO_GAP, GapWriter
from outlive.store.output.merged import Output
from outlive.supervisor.output import quota
from outlive.supervisor.output.quota import NEVER
from outlive.system import hole_punch
from support.kept import check, check_places, made, numbered


def test_without_a_quota_nothing_is_ever_given_back(tmp_path: Path) -> None:
    with made(tmp_path, 0) as job:
        assert job.quota.full_at == job.quota.turn_bytes == NEVER
        job.put(0, numbered(5_000))
        assert job.gap() is NO_GAP and not (job.path / GAP).exists()


def test_a_successor_does_what_its_predecessor_recorded(tmp_path: Path) -> None:
    """A supervisor is killed between the record and the punch: no reader reads the span, and it takes no space in the end."""
    with made(tmp_path, 1 << 20) as job, pytest.MonkeyPatch.context() as patch:
        patch.setattr(hole_punch, "punch", lambda *_: None)
        for number in range(30):
            job.put(number % 2, numbered(10_000, number * 10_000))
        before = sum((job.path / name).stat().st_blocks * 512 for name in LOGS)
        assert before >= len(job.written), "nothing was punched yet"
        job.stop_supervising()
        patch.undo()
        times = [(job.path / name).stat().st_mtime_ns for name in LOGS]
        job.supervise()
        after = sum((job.path / name).stat().st_blocks * 512 for name in LOGS)
        assert after <= (1 << 20) + (1 << 16) + 4 * 65_536
        assert times == [(job.path / name).stat().st_mtime_ns for name in LOGS], "no output came"
        job.put(0, numbered(50_000, 300_000))
        with Output(job.dir) as output:
            check(job, output, 0, output.end)


def failing(number: int) -> Callable[..., None]:
    def fail(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def test_a_record_that_cannot_be_written_gives_nothing_away(tmp_path: Path) -> None:
    with made(tmp_path, 4_000) as job, pytest.MonkeyPatch.context() as patch:
        patch.setattr(GapWriter, "write", failing(errno.ENOSPC))
        job.put(0, numbered(1_000))
        with Output(job.dir) as output:
            assert output.gap is NO_GAP
            assert output.read(0, output.end) == job.text()
        patch.undo()
        job.put(0, numbered(1_000, 1_000))
        with Output(job.dir) as output:
            assert output.stored <= 4_000 + 250
            check(job, output, 0, output.end)


def test_where_no_hole_can_be_punched_nothing_more_is_stored(tmp_path: Path) -> None:
    with made(tmp_path, 4_000) as job, pytest.MonkeyPatch.context() as patch:
        patch.setattr(hole_punch, "punch", failing(errno.EOPNOTSUPP))
        job.put(0, numbered(1_000))
        with Output(job.dir) as output:
            assert output.gap is NO_GAP
            assert 4_000 < output.end <= 4_250
            assert output.read(0, output.end) == job.text()
        assert not job.quota.make_room(output.end)


def test_the_history_tells_of_the_gap_seldom_and_of_its_end_once(tmp_path: Path) -> None:
    with made(tmp_path, 4_000) as job:
        job.put(0, numbered(5_000))
        job.quota.finish()
        job.quota.finish()
        first, last = job.events
        hole = job.gap().merged
        assert first["type"] == last["type"] == "output_gap"
        assert first["from_seq"] == last["from_seq"] == hole.start
        assert (last["to_seq"], last["bytes"], last["lines"]) == (hole.stop, hole.stop - hole.start, hole.lines)


def test_records_of_runs_that_are_gone_are_given_back_too(tmp_path: Path) -> None:
    with made(tmp_path, 65_536) as job:
        for number in range(20_000):
            job.put(number % 2, b"%07d\n" % number)
        status = (job.path / ORDER).stat()
        assert status.st_size == 20_000 * 32
        assert status.st_blocks * 512 < 20_000 * 32 - 65_536
        with Output(job.dir) as output:
            check(job, output, 0, output.end)
            check_places(job, output, output.gap.merged.stop + 100)


def test_the_record_is_on_the_disk_before_the_first_bytes_go_and_is_synced_seldom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    punch, sync = hole_punch.punch, GapWriter.sync

    def punched(fd: int, start: int, stop: int) -> None:
        done.append("punch")
        punch(fd, start, stop)

    def synced(writer: GapWriter) -> None:
        done.append("sync")
        sync(writer)

    monkeypatch.setattr(hole_punch, "punch", punched)
    monkeypatch.setattr(GapWriter, "sync", synced)
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with made(tmp_path, 65_536) as job:
        job.put(0, b"line\n" * 40_000)
        at = done.index("sync")
        assert done[:at] == ["punch"], "a try behind the end of our own file, where nothing is lost"
        assert (done.count("sync"), done.count("punch") > 10) == (1, True)
        clock[0] += quota.GAP_SYNC_S
        job.put(0, b"line\n" * 40_000)
        assert done.count("sync") == 2
