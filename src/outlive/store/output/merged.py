"""A job's output: two logs on disk, and the order in which their bytes arrived.

`order` holds one 32-byte record for each run of bytes of one stream: merged start, stream, offset
in its log, time in Unix ns. A record is written *before* the run's first byte and never changed. A
run ends where the next one starts; the last one ends where its log ends. What comes later than
_RUN_NS begins another run, also of the same stream, so the file says when lines were printed. `seq`
is a position in the merged stream.
"""

from __future__ import annotations

import errno
import os
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from outlive.store.atomic_file import NotOurs
from outlive.store.job_dir import LOGS, ORDER, JobDir
from outlive.store.output import order
from outlive.store.output.gap import NO_GAP, Gap, GapFile, Hole, output_size
from outlive.store.output.masks import Mask

_R = TypeVar("_R")

STDOUT, STDERR = 0, 1
_RECORD = order.RECORD
_BLOCK = 1 << 20  # read in one go
_RUN_NS = 100_000_000
# What is read besides the two logs: records of `order`, positions of the merged stream
_ORDER, _MERGED = 2, 3
_NOWHERE = (1 << 63, -1)
_UNTOUCHED = [_NOWHERE] * 4  # by kind: stdout, stderr, records of `order`, merged output


class OrderWriter:
    """Writes `order`, for the supervisor: where the next byte of a stream belongs, before that byte
    is written."""

    def __init__(self, job: JobDir, sizes: list[int]) -> None:
        """Continue where the last writer stopped: `sizes`, of both logs, and the file say all that has to
        be known."""
        self._fd = order.writable(job, sizes)
        self._count = os.fstat(self._fd).st_size // _RECORD.size
        self.stream = -1  # that was written last; -1: none was
        self._start = self._offset = self._began = 0
        if self._count:
            self._start, self.stream, self._offset, self._began = order.record_of(self._fd, self._count - 1)

    def before(self, stream: int, sizes: list[int]) -> None:
        """Record that bytes of `stream` come next. Call it before they are appended; `sizes` are
        the lengths of both logs now. Errors: OSError."""
        now = time.time_ns()
        if stream == self.stream and 0 <= now - self._began < _RUN_NS:
            return
        end = self.end(sizes)
        record = _RECORD.pack(end, stream, sizes[stream], now)
        try:
            os.pwrite(self._fd, record, self._count * _RECORD.size)
        except OSError:
            if stream != self.stream:
                raise
            self._began = now  # a full disk: what still fits into the log needs no time
            return
        self._count += 1
        self._start, self.stream, self._offset, self._began = end, stream, sizes[stream], now

    def end(self, sizes: list[int]) -> int:
        return self._start + max(0, sizes[self.stream] - self._offset) if self.stream >= 0 else 0


class Output:
    """A snapshot of a job's output: the bytes that are there now, at positions that never change.
    Close it after use.

    Bytes in the gap (store/output/gap.py) are left out of what is read. The gap may grow over bytes
    while they are read; then they are read again with the new gap, `gap` becomes another object,
    and `end` is at least where the gap ends. `damage`: what is wrong with `order`.
    """

    def __init__(self, job: JobDir, *, stored: bool = False) -> None:
        """`stored`: show the bytes as they are stored, values of masked variables too."""
        self.job = job
        self._order, self._logs = -1, [-1, -1]
        self._masks: list[Mask] = []
        self._gaps = GapFile(job)
        self._touched = _UNTOUCHED[:]  # what was read behind the gap: (first, one behind the last)
        self.gap: Gap = NO_GAP
        self.end = 0
        self.not_utf_8 = False  # whether a reader showed bytes as text that are none
        self.hidden = 0  # bytes at the end that were not searched for masked values yet
        try:
            self._open(stored=stored)
        except BaseException:
            self.close()
            raise

    def _open(self, *, stored: bool) -> None:
        # Sizes first, records second: a record may be newer than a size, never the other way round.
        # (Records first contradicted the final stream in 143 of 9,776 reads, sizes first in none of
        # 9,775.)
        job = self.job
        lengths = [output_size(job, stream) for stream in (STDOUT, STDERR)]
        self.sizes = [max(lengths[stream], job.least_size(stream)) for stream in (STDOUT, STDERR)]
        cuts = job.log_cuts[:2], job.log_cuts[2:]
        self.missing = [_missing(*values) for values in zip(cuts, lengths, self.sizes, strict=True)]
        self._order, self.damage = order.opened(job, self.sizes)
        self._records = os.fstat(self._order).st_size // _RECORD.size if self._order >= 0 else 0
        self._use(self._gaps.newest())
        if self._count:
            start, stream, offset, _ = self._record(self._count - 1)
            self.end = max(self.gap.merged.stop, start + max(0, self.sizes[stream] - offset))
        for stream in () if stored else (STDOUT, STDERR):
            mask = Mask.of(job, stream)
            if mask is not None:
                self._masks.append(mask)
        if self._masks:
            self._hide()

    def __enter__(self) -> Output:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for fd in (self._order, *self._logs):
            if fd >= 0:
                os.close(fd)
        for mask in self._masks:
            mask.close()
        self._masks = []
        self._order = -1
        self._logs = [-1, -1]
        self._gaps.close()

    @property
    def stored(self) -> int:
        """How many bytes of the output are still there."""
        return self.gap.merged.kept(0, self.end)

    @property
    def runs(self) -> int:
        """How many runs of one stream the output consists of."""
        return self._count

    @property
    def missing_bytes(self) -> int:
        """How many bytes another program cut out of the logs, not counting those in the gap."""
        return sum(gone.kept(span.start, span.stop) for gone, span in zip(self.gap.streams, self.missing, strict=True))

    def end_of(self, stream: int | None) -> int:
        """Return the length of one log, or (None) of the merged output."""
        return self.end if stream is None else self.sizes[stream]

    def pieces(self, start: int, stop: int, only: int | None = None) -> list[tuple[int, bytes]]:
        """Return the runs of [start, stop) in order, as (stream, bytes), without missing bytes.
        `only`: of one stream."""
        pieces = self._sure(lambda: self._pieces(start, min(stop, self.end), only))
        return [(stream, self._shown(stream, at, data)) for stream, at, data in pieces]

    def placed(self, start: int, stop: int, *, by_record: bool = False) -> list[tuple[int, int, bytes]]:
        """Return [start, stop) in order, as (stream, position in its log, bytes). Missing bytes are
        zeros. A piece ends where the other stream goes on, `by_record` at each record of `order`."""
        return self._sure(lambda: self._pieces(start, min(stop, self.end), None, by_record=by_record))

    def read(self, start: int, stop: int) -> bytes:
        """Return the merged bytes of [start, stop), each in its place: missing bytes are zeros."""
        return b"".join(data for _, _, data in self.placed(start, stop))

    def shown_stream(self, stream: int, start: int, stop: int) -> bytes:
        """Return bytes [start, stop) of one stream's own log, without missing bytes."""
        return b"".join(self._shown(stream, at, data) for at, data in self._log_pieces(stream, start, stop))

    def read_stream(self, stream: int, start: int, stop: int) -> bytes:
        """Return bytes [start, stop) of one stream's own log, each in its place: missing bytes are
        zeros."""
        return b"".join(data for _, data in self._log_pieces(stream, start, stop))

    def _log_pieces(self, stream: int, start: int, stop: int) -> list[tuple[int, bytes]]:
        def pieces() -> list[tuple[int, bytes]]:
            spans = self.gap.streams[stream].around(start, min(stop, self.sizes[stream]))
            return [(low, self._read_log(stream, low, high - low)) for low, high in spans]

        return self._sure(pieces)

    def _shown(self, stream: int, at: int, data: bytes) -> bytes:
        """Return `data`, which stands at `at` of a log, without its missing bytes. A line that was cut
        gets a newline."""
        gone = self.missing[stream]
        if not gone.crossed_by(at, at + len(data)):
            return data
        before = data[: max(0, gone.start - at)]
        end = b"\n" if before and not before.endswith(b"\n") else b""
        return before + end + data[gone.stop - at :]

    def take(self, start: int, count: int, stream: int | None = None) -> tuple[int, bytes]:
        """Return at most `count` bytes without a gap between them, and where they begin: at
        `start`, or if that is in the gap, at the gap's end. The bytes are empty at the end of the
        output."""
        while True:
            hole = self.gap.of(stream)
            at = hole.stop if hole.holds(start) else start
            stop = min(at + count, hole.start if at < hole.start else self.end_of(stream))
            data = self.read(at, stop) if stream is None else self.read_stream(stream, at, stop)
            if self.gap.of(stream) is hole:
                return at, data

    def steady(self, read: Callable[..., _R], *values: Any) -> _R:
        """Return `read(*values)`, repeated until the gap stays the same while it runs."""
        while True:
            gap = self.gap
            value = self._sure(lambda: read(*values))
            if self.gap is gap:
                return value

    def touch(self, stream: int | None, position: int) -> None:
        """Note that something was read which is true only as long as this position is not in the gap."""
        self._touch(_MERGED if stream is None else stream, position - 1, position)

    def offsets_at(self, seq: int) -> list[int]:
        """Return for each stream how many bytes of its own log stand before position `seq`."""
        return self._sure(lambda: self._offsets_at(seq))

    def seq_of(self, stream: int, offset: int) -> int:
        """Return the position of byte `offset` of one stream's log."""
        return self._sure(lambda: self._seq_of(stream, offset))

    def record_at(self, seq: int) -> int:
        """Return the number of the record of `order` whose run holds the byte at `seq`."""
        return self._physical(self._run_at(seq))

    def run_at(self, seq: int) -> tuple[int, int, int | None]:
        """Return where the run that holds `seq` starts and ends, and when it began, in Unix ns; None: not known."""

        def read() -> tuple[int, int, int | None]:
            index = self._run_at(seq)
            start, _, _, when = self._record(index)
            stop = self._record(index + 1)[0] if index + 1 < self._count else self.end
            return start, stop, None if when == order.NO_TIME else when

        return self._sure(read)

    def last_time(self) -> float | None:
        """Return when the newest output came (Unix seconds), or None if there is no output."""
        if not self.end:
            return None
        times = []
        for name in LOGS:
            with suppress(FileNotFoundError):
                times.append(os.stat(name, dir_fd=self.job.fd, follow_symlinks=False).st_mtime)
        return max(times, default=None)

    def _hide(self) -> None:
        """End before the first byte that was not searched for masked values yet."""
        known = [mask.searched for mask in self._masks]
        ends = [self.seq_of(stream, at) for stream, at in enumerate(known) if at < self.sizes[stream]]
        end = max(self.gap.merged.stop, min([self.end, *ends]))
        if end < self.end:
            self.sizes, self.hidden, self.end = self.offsets_at(end), self.end - end, end

    # --- the gap ---

    def _use(self, gap: Gap) -> None:
        self.gap = gap
        if gap is not NO_GAP:
            self._records = os.fstat(self._order).st_size // _RECORD.size
            self.sizes = [max(size, hole.stop) for size, hole in zip(self.sizes, gap.streams, strict=True)]
            self.end = max(self.end, gap.merged.stop)
        self._count = max(0, self._records - (gap.order.stop - gap.order.start))  # a power cut may take their end

    def _sure(self, read: Callable[[], _R]) -> _R:
        """Return `read()`, repeated until nothing of what it read had gone into the gap meanwhile.
        This comes to an end: what is to be read is bounded, and the gap leaves less of it each
        time."""
        outer = self._touched
        while True:
            self._touched = _UNTOUCHED[:]
            value = read()
            # What used no position of the output cannot have lost it
            newest = self.gap if self._touched == _UNTOUCHED else self._gaps.newest()
            if newest is self.gap or not self._lost_to(newest):
                self._touched = outer
                return value
            self._use(newest)

    def _lost_to(self, gap: Gap) -> bool:
        holes = (*gap.streams, gap.order, gap.merged)
        return any(
            first < hole.stop and behind > hole.start
            for (first, behind), hole in zip(self._touched, holes, strict=True)
        )

    def _touch(self, kind: int, start: int, stop: int) -> None:
        hole = (*self.gap.streams, self.gap.order, self.gap.merged)[kind]
        if start >= hole.stop:  # bytes before the gap stay
            first, behind = self._touched[kind]
            self._touched[kind] = min(first, start), max(behind, stop)

    # --- reading ---

    def _pieces(
        self, start: int, stop: int, only: int | None, *, by_record: bool = False
    ) -> list[tuple[int, int, bytes]]:
        """Return the runs as (stream, where in its log, bytes)."""
        pieces: list[tuple[int, int, bytes]] = []
        for low, high in self.gap.merged.around(start, stop):
            pieces += self._runs(low, high, only, by_record=by_record)
        return pieces

    def _runs(self, start: int, stop: int, only: int | None, *, by_record: bool) -> list[tuple[int, int, bytes]]:
        pieces: list[tuple[int, int, bytes]] = []
        index = self._run_at(start)
        while start < stop and index < self._count:
            run_start, stream, offset, _ = self._record(index)
            index, run_end = self._end_of_run(index, stop, by_record=by_record)
            take = min(stop, run_end) - start
            if take > 0:
                if only is None or only == stream:
                    at = offset + start - run_start
                    pieces.append((stream, at, self._read_log(stream, at, take)))
                start += take
        return pieces

    def _end_of_run(self, index: int, stop: int, *, by_record: bool) -> tuple[int, int]:
        """Return the record behind this one that is of the other stream or begins at `stop` or later, and
        where it begins; `by_record`: the next one."""
        stream = self._record(index)[1]
        while (index := index + 1) < self._count:
            start, other, _, _ = self._record(index)
            if by_record or other != stream or start >= stop:
                return index, start
        return index, self.end

    def _offsets_at(self, seq: int) -> list[int]:
        if self.gap.merged.holds(seq):
            return [hole.start if seq == self.gap.merged.start else hole.stop for hole in self.gap.streams]
        if seq >= self.end:
            return list(self.sizes)
        start, stream, offset, _ = self._record(self._run_at(seq))
        offsets = [start - offset] * 2  # what is not of this stream before its run is of the other one
        offsets[stream] = offset + max(0, seq - start)
        return offsets

    def _seq_of(self, stream: int, offset: int) -> int:
        hole = self.gap.streams[stream]
        if hole.holds(offset):
            return self.gap.merged.stop
        if not self._count:
            return self.gap.merged.stop
        runs = range(self._count)
        index = bisect_right(runs, offset, key=lambda run: self._before(run, stream)) - 1
        start, own, run_offset, _ = self._record(index)
        if own != stream:  # its end: behind its last byte
            after = bisect_left(runs, offset, key=lambda run: self._before(run, stream))
            start, run_offset = (self._record(after)[0] if after < self._count else self.end), offset
        behind = self.gap.merged.stop if offset >= hole.stop else 0
        return max(start + offset - run_offset, behind)

    def _before(self, index: int, stream: int) -> int:
        """Return how many bytes of a stream stand before a run."""
        start, own, offset, _ = self._record(index)
        return offset if own == stream else start - offset

    def _run_at(self, seq: int) -> int:
        """Return the index of the run that holds `seq` (binary search: records are sorted by
        start)."""
        low, high = 0, self._count
        while low < high:
            middle = (low + high) // 2
            if self._record(middle)[0] <= seq:
                low = middle + 1
            else:
                high = middle
        return max(0, low - 1)

    def _physical(self, index: int) -> int:
        """Return the number of a record in the file. Records of runs that lie wholly in the gap are
        gone, and `index` does not count them."""
        hole = self.gap.order
        return index if index < hole.start else index + hole.stop - hole.start

    def _record(self, index: int) -> tuple[int, int, int, int]:
        number = self._physical(index)
        self._touch(_ORDER, number, number + 1)
        record = order.record_of(self._order, number)
        if not order.makes_sense(record):
            raise NotOurs(f"{ORDER} holds a record that makes no sense")
        return record

    def _read_log(self, stream: int, offset: int, count: int) -> bytes:
        self._touch(stream, offset, offset + count)
        pieces, first, wanted = [], offset, count
        try:
            if self._logs[stream] < 0:
                self._logs[stream] = self.job.open_file(LOGS[stream])
            while count > 0:
                piece = os.pread(self._logs[stream], min(count, _BLOCK), offset)
                if not piece:
                    break
                pieces.append(piece)
                offset += len(piece)
                count -= len(piece)
        except OSError as error:
            # The log is missing, or something else is in its place
            if error.errno != errno.ENOENT and not isinstance(error, NotOurs):
                raise
        # If the log was cut, the bytes behind it keep their places
        data = b"".join(pieces).ljust(wanted, b"\0")
        return self._masks[stream].applied(first, data) if self._masks else data


def _missing(cut: list[int], length: int, size: int) -> Hole:
    """Return which bytes of a log another program changed: those that its supervisor found, and what was cut off since
    (of a job that ended, its length is known)."""
    start, stop = cut
    if length < size:
        start, stop = min(start, length) if stop else length, size
    stop = min(stop, size)
    return Hole(min(start, stop), stop)
