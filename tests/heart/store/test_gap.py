"""What is read around a gap is what was written, at every position, also while the gap grows under the reader's hands."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from outlive.core.records import Watch
from outlive.render import search, window
from outlive.render.sources import View
from outlive.store.job_dir import GAP, LOGS
from outlive.store.output import line_index as lines_module
from outlive.store.output import merged as output_module
from outlive.store.output.gap import NO_GAP, Gap, GapFile, GapWriter, Hole
from outlive.store.output.line_index import Lines
from outlive.store.output.merged import Output
from outlive.store.output.patterns import Pattern
from outlive.store.output.scanner import Scanner
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.events.watcher import Watcher
from support.kept import Job, check, check_lines, check_places, fill, made, numbered


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index of lines has an entry every 64 bytes, so that few lines have many."""
    monkeypatch.setattr(lines_module, "_BLOCK", 64)
    monkeypatch.setattr(output_module, "_BLOCK", 64)


# --- holes ---------------------------------------------------------------------------------------------------------


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 60), st.integers(0, 60))
def test_counting_around_a_hole_is_counting_what_is_there(start: int, length: int, first: int, second: int) -> None:
    hole = Hole(start, start + length)
    there = [at for at in range(200) if not hole.holds(at)]
    low, high = sorted((first, second))
    assert hole.kept(low, high) == sum(low <= at < high for at in there)
    assert hole.crossed_by(low, high) == any(hole.holds(at) for at in range(low, high))
    behind = hole.plus(low, second)
    assert sum(low <= at < behind for at in there) == second, "so many bytes further on"
    if hole.kept(0, high) >= second:
        before = hole.minus(high, second)
        assert sum(before <= at < high for at in there) == second
        assert second == 0 or not hole.holds(before)


# --- the record ----------------------------------------------------------------------------------------------------


def test_a_record_is_read_as_it_was_written_and_the_newest_counts(tmp_path: Path) -> None:
    with made(tmp_path, 0) as job:
        assert job.gap() is NO_GAP
        writer = GapWriter(job.dir)
        for stop in (20, 30, 40, 50):
            writer.write(Gap(Hole(10, stop), (Hole(5, stop - 10, 3), Hole(5, 10, 4)), Hole(1, 2)))
            found = job.gap()
            assert (found.merged.start, found.merged.stop, found.merged.lines) == (10, stop, 7)
            assert (found.streams[1].start, found.streams[1].stop, found.streams[1].lines) == (5, 10, 4)
            assert (found.order.start, found.order.stop) == (1, 2)
        writer.close()
        assert (job.path / GAP).stat().st_size == 192


@pytest.mark.parametrize("damage", [b"", b"\0" * 192, b"x" * 300, b"short"])
def test_a_damaged_record_is_none(tmp_path: Path, damage: bytes) -> None:
    with made(tmp_path, 0) as job:
        (job.path / GAP).write_bytes(damage)
        assert job.gap() is NO_GAP
        job.put(0, b"as ever\n")
        with Output(job.dir) as output:
            assert output.read(0, 100) == b"as ever\n"


def test_a_writer_killed_in_the_middle_of_a_record_leaves_the_one_before(tmp_path: Path) -> None:
    with made(tmp_path, 0) as job:
        for stop in (20, 30, 40):
            writer = GapWriter(job.dir)  # each a successor
            writer.write(Gap(Hole(10, stop), (Hole(10, stop, 1), Hole()), Hole()))
            writer.close()
        with open(job.path / GAP, "r+b") as file:
            file.write(b"half a record")
        assert job.gap().merged.stop == 30, "the other slot"
        writer = GapWriter(job.dir)
        writer.write(Gap(Hole(10, 50), (Hole(10, 50, 1), Hole()), Hole()))
        writer.close()
        assert job.gap().merged.stop == 50
        with open(job.path / GAP, "r+b") as file:
            file.seek(96)
            assert file.read(96)[8:16] == (30).to_bytes(8, "little"), "the half one was written over"


# --- reading what was written --------------------------------------------------------------------------------------

LONG = b"fghijk" * 9
RUNS = st.lists(
    st.tuples(st.integers(0, 1), st.lists(st.sampled_from([b"a\n", b"bcd\n", b"e", b"\xc3\xa4\n", LONG]), max_size=9)),
    max_size=40,
)


@given(RUNS, st.integers(128, 700), st.lists(st.integers(0, 1500), min_size=4, max_size=4))
def test_whatever_is_read_is_what_was_written_but_for_the_gap(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[int, list[bytes]]], quota: int, at: list[int]
) -> None:
    with made(tmp_path_factory.getbasetemp(), quota) as job:
        fill(job, runs)
        with Output(job.dir) as output:
            assert output.end == len(job.written)
            assert output.stored <= quota + quota // 16
            check(job, output, *sorted(at[:2]))
            check(job, output, 0, output.end)
            for seq in (at[0], output.gap.merged.start, output.gap.merged.stop, output.gap.merged.stop + 1):
                check_places(job, output, seq)
            for only in (None, 0, 1):
                check_lines(job, output, only, at[2], at[3] // 8)


@pytest.mark.usefixtures("small_blocks")
@given(RUNS, st.integers(128, 400), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 999)), max_size=12))
def test_lines_keep_their_numbers_whenever_the_index_was_made(
    tmp_path_factory: pytest.TempPathFactory,
    runs: list[tuple[int, list[bytes]]],
    quota: int,
    looks: list[tuple[int, int]],
) -> None:
    with made(tmp_path_factory.getbasetemp(), quota) as job:
        for number, run in enumerate(runs):
            fill(job, [run])
            for when, seq in looks:
                if when == number:
                    with Output(job.dir) as output:
                        check_lines(job, output, (None, 0, 1)[seq % 3], seq, seq // 5)
        with Output(job.dir) as output:
            for only in (None, 0, 1):
                for seq in range(0, output.end + 1, 7):
                    check_lines(job, output, only, seq, seq // 3)


class Interleaved:
    """Between any two reads of the reader the writer writes on: what it does next is drawn."""

    def __init__(self, job: Job, runs: list[tuple[int, list[bytes]]], steps: list[int]) -> None:
        self._job = job
        self._runs = iter(runs)
        self._steps = itertools.cycle(steps or [0])
        self._busy = False
        self._real: Callable[..., bytes] = os.pread

    def pread(self, *args: int) -> bytes:
        if self._busy:
            return self._real(*args)
        before, behind = divmod(next(self._steps), 3)
        self._write(before)
        try:
            return self._real(*args)
        finally:
            self._write(behind)

    def _write(self, count: int) -> None:
        self._busy = True
        for _ in range(count):
            fill(self._job, [run for run in [next(self._runs, None)] if run])
        if count:  # and another reader, later, writes into the index of lines
            with Output(self._job.dir) as output:
                for only in (None, 0, 1):
                    lines = Lines(self._job.dir, output, only)
                    lines.total()
                    lines.close()
        self._busy = False


@pytest.mark.usefixtures("small_blocks")
@given(
    RUNS,
    RUNS,
    st.integers(128, 300),
    st.lists(st.integers(0, 8), max_size=20),
    st.lists(st.integers(0, 900), min_size=4, max_size=4),
)
@example([(0, [LONG])], [(0, [])] * 3 + [(0, [b"a\n", LONG, LONG])], 128, [0, 1], [0, 0, 54, 0])
def test_a_gap_that_grows_while_somebody_reads_is_never_read_as_output(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[tuple[int, list[bytes]]],
    then: list[tuple[int, list[bytes]]],
    quota: int,
    steps: list[int],
    at: list[int],
) -> None:
    with made(tmp_path_factory.getbasetemp(), quota) as job, pytest.MonkeyPatch.context() as patch:
        fill(job, first)
        with Output(job.dir) as output:
            patch.setattr(os, "pread", Interleaved(job, then, steps).pread)
            check(job, output, *sorted(at[:2]))
            check(job, output, 0, output.end)
            check_places(job, output, at[2])
            for only in (None, 0, 1):
                check_lines(job, output, only, at[3], at[2] // 8)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("only", [None, 0])
def test_an_entry_of_the_index_that_somebody_made_behind_the_gap_is_not_believed(
    tmp_path: Path, only: int | None
) -> None:
    with made(tmp_path, 1_000) as job:
        job.put(0, b"x\n" * 450)
        with Output(job.dir) as output:  # looked before there was a gap
            job.put(0, b"y\n" * 450)
            with Output(job.dir) as later:
                lines = Lines(job.dir, later, only)
                assert lines.total() == 900
                lines.close()
                hole = later.gap.of(only)
            inside = [seq for seq in range(0, 900, 64) if hole.start < seq < hole.stop]
            assert len(inside) > 3
            lines = Lines(job.dir, output, only)
            assert lines.before(inside[0]) == hole.stop // 2, "as of every position that is gone"
            assert [lines.before(seq) for seq in inside] == [hole.stop // 2] * len(inside)
            lines.close()


# --- what is shown -------------------------------------------------------------------------------------------------


def unmarked(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("[...")]


@given(st.integers(0, 30_000), st.integers(0, 30_000), st.integers(200, 9_000))
def test_an_answer_shows_true_lines_names_the_gap_and_counts_what_it_leaves_out(
    tmp_path_factory: pytest.TempPathFactory, since: int, length: int, max_bytes: int
) -> None:
    with made(tmp_path_factory.getbasetemp(), 5_000) as job:
        job.put(0, numbered(2_500))
        with Output(job.dir) as output:
            stop = min(output.end, since + length)
            shown = window.show(job.dir, output, since, stop, View(max_bytes, raw=True), more=False)
            hole = output.gap.merged
        text = job.text()
        for line in unmarked(shown.output):
            assert line.encode() in text, "no line is made of two"
        gone = [one for one in shown.output.splitlines() if "are gone" in one]
        since, stop = min(since, len(text)), max(stop, min(since, len(text)))
        assert bool(gone) == bool(shown.gaps) == hole.crossed_by(since, stop)
        for gap in shown.gaps or ():
            assert (gap.from_seq, gap.to_seq) == (hole.start, hole.stop)
            assert gap.lines == text[hole.start : hole.stop].count(b"\n")
        visible = sum(len(line) for line in unmarked(shown.output))
        left_out = shown.truncated.bytes if shown.truncated else 0
        newlines = shown.output.count("\n") - len([one for one in shown.output.splitlines() if one.startswith("[...")])
        assert hole.kept(since, max(stop, shown.next_seq)) - left_out <= visible + newlines + 1
        if shown.truncated:
            span = text[shown.truncated.from_seq : shown.truncated.to_seq]
            cut = hole if hole.crossed_by(shown.truncated.from_seq, shown.truncated.to_seq) else Hole()
            assert shown.truncated.lines == span.count(b"\n") - cut.lines


def test_a_search_passes_over_the_gap_and_numbers_stay_right(tmp_path: Path) -> None:
    with made(tmp_path, 5_000) as job:
        job.put(0, numbered(2_500))
        with Output(job.dir) as output:
            lines = Lines(job.dir, output)
            found, nothing, late = (
                search.search(
                    lines, Pattern(wanted), start, search.Matched(limit=None, context=0, max_bytes=60_000, raw=True)
                )
                for wanted, start in (("0[05]$", 0), ("nowhere", 0), ("0[05]$", output.gap.merged.stop))
            )
            lines.close()
            hole = output.gap.merged
    rows = [row for row in found.shown.output.splitlines() if not row.startswith("[...")]
    assert all(row == f"{int(row[-5:]) + 1}:line {row[-5:]}" for row in rows)
    assert found.matches == len(rows) > 5
    assert found.shown.output.count("are gone") == 1
    assert (
        [gap.to_dict() for gap in found.shown.gaps or ()]
        == [gap.to_dict() for gap in nothing.shown.gaps or ()]
        == [{"from_seq": hole.start, "to_seq": hole.stop, "bytes": hole.stop - hole.start, "lines": hole.lines}]
    )
    assert "not searched" in str(found.hint) and "not searched" in str(nothing.hint)
    assert late.shown.gaps is None and late.hint is None
    assert found.total_lines == 2_500


def test_what_an_answer_reads_of_no_output_looks_for_a_gap_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    newest = GapFile.newest
    with made(tmp_path, 5_000) as job:

        def look(file: GapFile) -> Any:
            looked.append(1)
            return newest(file)

        monkeypatch.setattr(GapFile, "newest", look)
        with Output(job.dir) as output:
            window.show(job.dir, output, 0, output.end, View(1_000), more=False)
            window.tails(output, 10, 1_000)
    assert len(looked) == 1


def test_a_tail_does_not_reach_across_the_gap(tmp_path: Path) -> None:
    with made(tmp_path, 5_000) as job:
        job.put(1, b"early\n")
        job.put(0, numbered(200))
        job.put(1, b"in the middle\n")
        job.put(0, numbered(2_000, 200))
        with Output(job.dir) as output:
            whole = window.tails(output, 10_000, 60_000)
            short = window.tails(output, 3, 60_000)
            hole = output.gap.streams[0]
        assert whole.stdout_tail.encode() == job.text(only=0)[hole.stop :]
        assert whole.stderr_tail == "", "what came last of it is gone"
        assert whole.gaps and whole.gaps[0].from_seq == output.gap.merged.start
        assert short.stdout_tail.encode() == numbered(3, 2_197)
        assert whole.truncated is True


@given(RUNS, RUNS, st.lists(st.integers(0, 8), max_size=20))
@example(first=[], then=[(0, [b"e"]), (1, [b"fghijk" * 10, b"fghijk" * 10])], steps=[1])
def test_a_scanner_hands_out_every_line_that_is_there_and_none_that_is_not(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[tuple[int, list[bytes]]],
    then: list[tuple[int, list[bytes]]],
    steps: list[int],
) -> None:
    with made(tmp_path_factory.getbasetemp(), 200) as job, pytest.MonkeyPatch.context() as patch:
        fill(job, first)
        scanner = Scanner(job.dir, 0, 0)
        patch.setattr(os, "pread", Interleaved(job, then, steps).pread)
        handed = [scanner.whole_lines() for _ in range(len(first) + len(then))]
        patch.undo()
        fill(job, then)
        while True:
            at, data = scanner.whole_lines()
            if not data:
                break
            handed.append((at, data))
        at, rest = scanner.unfinished()
        handed.append((at, rest))
        text, hole = job.text(only=0), job.gap().streams[0]
        for at, data in handed:
            assert text[at : at + len(data)] == data
        seen = {at for begin, data in handed for at in range(begin, begin + len(data))}
        assert seen >= {at for at in range(len(text)) if not hole.holds(at)}
        for at, _ in handed[1:]:
            before = text[at - 1 : at]
            assert before == b"\n" or any(at == begin + len(data) for begin, data in handed) or at > hole.start
        scanner.close()


def test_a_scanner_goes_on_in_a_log_that_was_deleted_and_made_again(tmp_path: Path) -> None:
    with made(tmp_path, 0) as job:
        job.put(0, b"one\n")
        scanner = Scanner(job.dir, 0, 0)
        assert scanner.whole_lines() == (0, b"one\n")
        log = job.path / LOGS[0]
        log.unlink()
        log.write_bytes(b"one\ntwo\n")
        assert scanner.whole_lines() == (4, b"two\n")
        scanner.close()


def test_a_line_goes_on_over_a_gap_that_took_nothing_of_its_stream(tmp_path: Path) -> None:
    with made(tmp_path, 200) as job:
        job.put(0, b"one\ntw")
        job.put(1, b"err\n" * 60)
        job.put(0, b"o\nthree\n")
        hole = job.gap().streams[0]
        assert (hole.start, hole.stop) == (6, 6)
        scanner = Scanner(job.dir, 0, 0)
        assert scanner.whole_lines() == (0, b"one\ntwo\nthree\n")
        assert scanner.skipped == 0
        assert [scanner.line_start(at) for at in (5, 6, 7)] == [4, 4, 4]
        scanner.close()


def test_a_watch_that_falls_behind_goes_on_behind_the_gap_and_says_what_it_missed(tmp_path: Path) -> None:
    told: list[dict[str, Any]] = []
    done: list[bool] = []
    spec = Watch(id="w1", pattern="0[05]$")
    with made(tmp_path, 5_000) as job:
        log: Any = SimpleNamespace(configure=lambda _: None, has_room=True, bound=lambda: None)
        watches = Watcher(
            job.dir,
            EventLoop(),
            log,
            tell=lambda kind, **event: told.append({"type": kind, **event}),
            on_done=lambda: done.append(True),
        )
        watches.configure([spec])
        job.put(0, numbered(2_500))
        watches.finish()
        while not done:  # each slice searches a piece; how many are searched at once depends on the machine
            watches._look()
        hole = job.gap().streams[0]
        text = job.text()
        watches.stop()
    hits = [event for event in told if event["type"] == "watch_hit"]
    assert len(hits) > 4
    assert all(text[hit["seq"] :].startswith(hit["line"].encode() + b"\n") for hit in hits)
    assert not any(hole.holds(hit["seq"]) for hit in hits)
    assert {hit["seq"] > hole.start for hit in hits} == {False, True}
    assert [event for event in told if event["type"] == "watch_skipped"] == [
        {"type": "watch_skipped", "stream": "stdout", "bytes": hole.stop - hole.start}
    ]
