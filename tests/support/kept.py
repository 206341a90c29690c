"""A job's output under a quota, written as a supervisor writes it, and the proof that what is read is what was written."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from outlive.store.job_dir import LOGS, ORDER, JobDir
from outlive.store.output.gap import Gap, GapFile, Hole
from outlive.store.output.line_index import Lines
from outlive.store.output.merged import OrderWriter, Output
from outlive.supervisor.output.quota import Quota

NAMES = itertools.count()


class Job:
    """A job directory, and what a supervisor does to it. `written` is every byte there ever was, `streams` the stream
    of each, `logs` the bytes of each stream."""

    def __init__(self, place: Path, quota: int) -> None:
        number = next(NAMES)
        self._slow = number % 2 == 1  # each of its writes comes later than a run of bytes lasts
        path = place / f"{number:026d}"
        path.mkdir()
        for name in (ORDER, *LOGS):
            (path / name).touch()
        self.path = path
        self.dir = JobDir(str(place), path.name, os.open(path, os.O_RDONLY | os.O_DIRECTORY))
        self.quota_bytes = quota
        self.events: list[dict[str, Any]] = []
        self.written, self.streams, self.logs = bytearray(), bytearray(), (bytearray(), bytearray())
        self._logs = [os.open(path / name, os.O_WRONLY) for name in LOGS]
        self.sizes = [0, 0]
        self.supervise()

    def supervise(self) -> None:
        """Wait for a takeover."""
        self.order = OrderWriter(self.dir, self.sizes)
        self.quota = Quota(
            self.dir, self.quota_bytes, lambda kind, **event: self.events.append({"type": kind, **event})
        )

    def put(self, stream: int, data: bytes) -> None:
        """As the pump does it, in turns."""
        for at in range(0, len(data), max(1, self.quota.turn_bytes)):
            piece = data[at : at + self.quota.turn_bytes]
            size = sum(self.sizes)
            if size > self.quota.full_at and not self.quota.make_room(size):
                return
            if self._slow:
                self.order._began = 0
            self.order.before(stream, self.sizes)
            os.pwrite(self._logs[stream], piece, self.sizes[stream])
            self.sizes[stream] += len(piece)
            self.written += piece
            self.streams += bytes([stream]) * len(piece)
            self.logs[stream].extend(piece)

    def text(self, only: int | None = None) -> bytes:
        return bytes(self.written if only is None else self.logs[only])

    def gap(self) -> Gap:
        look = GapFile(self.dir)
        found = look.newest()
        look.close()
        return found

    def stop_supervising(self) -> None:
        os.close(self.order._fd)

    def close(self) -> None:
        self.stop_supervising()
        for fd in self._logs:
            os.close(fd)
        self.dir.close()


@contextmanager
def made(place: Path, quota: int) -> Iterator[Job]:
    job = Job(place, quota)
    try:
        yield job
    finally:
        job.close()


def numbered(count: int, first: int = 0) -> bytes:
    return b"".join(b"line %05d\n" % number for number in range(first, first + count))


def fill(job: Job, runs: list[tuple[int, list[bytes]]]) -> None:
    for stream, pieces in runs:
        job.put(stream, b"".join(pieces))


def without(data: bytes | bytearray, hole: Hole, start: int, stop: int) -> bytes:
    """Return [start, stop) of what was written but for the bytes in the hole."""
    return bytes(data[start : min(hole.start, stop)] + data[max(hole.stop, start) : stop])


def check(job: Job, output: Output, start: int, stop: int) -> None:
    """[start, stop) is what was written, but for the gap."""
    found = output.pieces(start, stop)
    hole = output.gap.merged
    stop = max(start, min(stop, output.end))
    assert b"".join(data for _, data in found) == without(job.written, hole, start, stop)
    assert b"".join(bytes([stream]) * len(data) for stream, data in found) == without(job.streams, hole, start, stop)
    for stream in (0, 1):
        data = output.read_stream(stream, start, stop)
        every = job.text(only=stream)
        own = output.gap.streams[stream]
        size = output.sizes[stream]
        assert data == without(every, own, start, max(start, min(stop, size)))
        at, data = output.take(start, 50, stream)
        if data:
            every = job.text(only=stream)
            assert data == every[at : at + len(data)]
            assert at == start or output.gap.streams[stream].holds(start)


def check_places(job: Job, output: Output, seq: int) -> None:
    seq = min(seq, output.end)
    offsets = output.offsets_at(seq)
    hole = output.gap.merged
    real = hole.stop if hole.holds(seq) and seq != hole.start else seq
    assert offsets == [job.streams[:real].count(one) for one in (0, 1)]
    if seq < output.end and not hole.holds(seq):
        stream = job.streams[seq]
        assert output.seq_of(stream, output.offsets_at(seq)[stream]) == (
            hole.stop if output.gap.merged.holds(seq) else seq
        )


def check_lines(job: Job, output: Output, only: int | None, seq: int, line: int) -> None:
    """The numbers of lines are those of what was written until each of them was told: the writer may write on under
    the reader's hands."""
    lines = Lines(job.dir, output, only)
    try:
        before = lines.before(seq)
        text = job.text(only=only)
        hole = lines.hole
        real = hole.stop if hole.start < seq < hole.stop else seq
        assert before == text[: min(real, lines.end)].count(b"\n")
        total = lines.total()
        seen = job.text(only=only)[: lines.end]
        assert total == seen.count(b"\n") + (not seen.endswith(b"\n") and bool(seen))
        start, behind = lines.start_of(line), lines.start_of(line, behind_gap=True)
        hole, seen = lines.hole, job.text(only=only)[: lines.end]
        starts = [0, *(at + 1 for at, byte in enumerate(seen) if byte == 10)]
        at = starts[line] if line < len(starts) else lines.end
        if hole.start < at < hole.stop:
            assert (start in (hole.start, hole.stop)) and behind == hole.stop
        else:
            assert start == behind == at or hole.holds(at)
    finally:
        lines.close()
