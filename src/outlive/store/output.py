"""What a job has put out: two streams on disk, and the order in which they came.

`order` holds one 32-byte record for each run of bytes of one stream: (merged start, stream, offset in its log, time in
Unix ns), each written *before* the run's first byte and never changed. A run ends where the next one starts; the last
one is as long as its log says. `seq` is a position in the merged stream.
"""

from __future__ import annotations

import os
import struct
import time

from outlive.store.jobdir import LOGS, ORDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.store.jobdir import JobDir

STDOUT, STDERR = 0, 1
_RECORD = struct.Struct("<QQQQ")
_BLOCK = 1 << 20  # one entry of the line index


class OrderWriter:
    """The supervisor's side: says where the next byte of a stream belongs before that byte is written."""

    def __init__(self, job: JobDir) -> None:
        """Goes on where the last writer was stopped: the truth is in the sizes, not in anybody's memory."""
        self._fd = job.open_file(ORDER, os.O_RDWR)
        self._count = os.fstat(self._fd).st_size // _RECORD.size
        self._stream = -1
        self._start = self._offset = 0
        if self._count:
            record = os.pread(self._fd, _RECORD.size, (self._count - 1) * _RECORD.size)
            self._start, self._stream, self._offset, _ = _RECORD.unpack(record)

    def before(self, stream: int, sizes: list[int]) -> None:
        """Call before bytes of `stream` are appended; `sizes` are the lengths of both logs now. Errors: OSError."""
        if stream == self._stream:
            return
        end = self.end(sizes)
        record = _RECORD.pack(end, stream, sizes[stream], time.time_ns())
        os.pwrite(self._fd, record, self._count * _RECORD.size)
        self._count += 1
        self._start, self._stream, self._offset = end, stream, sizes[stream]

    @property
    def stream(self) -> int:
        """The stream that was written last; -1 if none was."""
        return self._stream

    def end(self, sizes: list[int]) -> int:
        """Length of the merged stream."""
        return self._start + sizes[self._stream] - self._offset if self._stream >= 0 else 0

    def close(self) -> None:
        os.close(self._fd)


class Output:
    """One look at a job's output: what is there now, at positions that never change. Close it after use."""

    def __init__(self, job: JobDir) -> None:
        self._job = job
        # Sizes first, records second: a record may be newer than a size, never the other way round. (Records first
        # contradicted the final stream in 143 of 9,776 looks, sizes first in none of 9,775.)
        self.sizes = [job.log_size(stream) for stream in (STDOUT, STDERR)]
        self._order = job.open_file(ORDER)
        self._logs = [-1, -1]
        self._count = os.fstat(self._order).st_size // _RECORD.size
        self.end = 0
        if self._count:
            start, stream, offset, _ = self._record(self._count - 1)
            self.end = start + max(0, self.sizes[stream] - offset)

    def __enter__(self) -> Output:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for fd in (self._order, *self._logs):
            if fd >= 0:
                os.close(fd)
        self._order = -1
        self._logs = [-1, -1]

    def pieces(self, start: int, stop: int, only: int | None = None) -> list[tuple[int, bytes]]:
        """The runs of [start, stop) in order, as (stream, bytes); `only` one stream's, if given."""
        stop = min(stop, self.end)
        found: list[tuple[int, bytes]] = []
        index = self._run_at(start)
        while start < stop and index < self._count:
            run_start, stream, offset, _ = self._record(index)
            run_end = self._record(index + 1)[0] if index + 1 < self._count else self.end
            take = min(stop, run_end) - start
            if take > 0:
                if only is None or only == stream:
                    found.append((stream, self._read_log(stream, offset + start - run_start, take)))
                start += take
            index += 1
        return found

    def read(self, start: int, stop: int) -> bytes:
        """The merged bytes of [start, stop)."""
        return b"".join(data for _, data in self.pieces(start, stop))

    def read_stream(self, stream: int, start: int, stop: int) -> bytes:
        """Bytes [start, stop) of one stream's own log."""
        stop = min(stop, self.sizes[stream])
        return self._read_log(stream, start, stop - start) if stop > start else b""

    def offsets_at(self, seq: int) -> list[int]:
        """For each stream, how much of its own log stands before position `seq`."""
        found = [-1, -1]
        if seq >= self.end:
            return list(self.sizes)
        index = self._run_at(seq)
        if self._count:
            start, stream, offset, _ = self._record(index)
            found[stream] = offset + max(0, seq - start)
        while min(found) < 0 and index + 1 < self._count:
            index += 1
            _, stream, offset, _ = self._record(index)
            if found[stream] < 0:
                found[stream] = offset
        return [size if offset < 0 else offset for offset, size in zip(found, self.sizes, strict=True)]

    def seq_of(self, stream: int, offset: int) -> int:
        """The position of byte `offset` of one stream's log."""
        low, high = 0, self._count  # the last run of this stream that starts at or before it
        best = 0
        while low < high:
            middle = (low + high) // 2
            index = middle
            while index >= low and self._record(index)[1] != stream:
                index -= 1
            if index < low:  # only the other stream's runs in here
                low = middle + 1
                continue
            start, _, run_offset, _ = self._record(index)
            if run_offset <= offset:
                best = start + offset - run_offset
                low = middle + 1
            else:
                high = index
        return best

    def last_time(self) -> float | None:
        """Unix seconds of the newest output; None if there is none."""
        if not self.end:
            return None
        times = (os.stat(name, dir_fd=self._job.fd, follow_symlinks=False).st_mtime for name in LOGS)
        return max(times)

    def _run_at(self, seq: int) -> int:
        """Index of the run that holds `seq` (binary search; records are sorted by start)."""
        low, high = 0, self._count
        while low < high:
            middle = (low + high) // 2
            if self._record(middle)[0] <= seq:
                low = middle + 1
            else:
                high = middle
        return max(0, low - 1)

    def _record(self, index: int) -> tuple[int, int, int, int]:
        found: tuple[int, int, int, int] = _RECORD.unpack(
            os.pread(self._order, _RECORD.size, index * _RECORD.size).ljust(_RECORD.size, b"\0")
        )
        return found

    def _read_log(self, stream: int, offset: int, count: int) -> bytes:
        if self._logs[stream] < 0:
            self._logs[stream] = self._job.open_file(LOGS[stream])
        pieces = []
        while count > 0:
            piece = os.pread(self._logs[stream], min(count, _BLOCK), offset)
            if not piece:
                break
            pieces.append(piece)
            offset += len(piece)
            count -= len(piece)
        return b"".join(pieces)


class Lines:
    """Line numbers of the merged stream, or of one log. Lines are counted from 0 at the job's start, for ever.

    A sparse index (newlines up to the end of each MiB) is kept beside the logs by whoever reads. Output never changes,
    so every writer of an entry writes the same number: no lock is needed, and a lost entry is counted again.
    """

    def __init__(self, job: JobDir, output: Output, stream: int | None = None) -> None:
        self._output = output
        self._stream = stream
        self.end = output.end if stream is None else output.sizes[stream]
        name = "lines" if stream is None else f"lines.{LOGS[stream].removesuffix('.log')}"
        self._fd = -1
        if self.end >= _BLOCK:
            try:
                self._fd = job.open_file(name, os.O_RDWR | os.O_CREAT)
            except OSError:  # read-only or full: count without remembering
                self._fd = -1

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def read(self, start: int, stop: int) -> bytes:
        if self._stream is None:
            return self._output.read(start, stop)
        return self._output.read_stream(self._stream, start, stop)

    def known_to(self) -> int:
        """Up to this position counting costs nothing."""
        return os.fstat(self._fd).st_size // 8 * _BLOCK if self._fd >= 0 else 0

    def before(self, seq: int) -> int:
        """How many newlines are in [0, seq)."""
        block, rest = divmod(min(seq, self.end), _BLOCK)
        count = self._upto(block)
        return count + self.read(block * _BLOCK, block * _BLOCK + rest).count(b"\n")

    def total(self) -> int:
        """How many lines there are; a last one without newline counts."""
        count = self.before(self.end)
        return count + 1 if self.end and self.read(self.end - 1, self.end) != b"\n" else count

    def start_of(self, line: int) -> int:
        """Position at which line `line` (from 0) starts; the end if there are fewer."""
        if line <= 0:
            return 0
        low, high = 0, self.end // _BLOCK
        while low < high:  # the first block whose end has counted `line` newlines
            middle = (low + high) // 2
            if self._upto(middle + 1) >= line:
                high = middle
            else:
                low = middle + 1
        at = low * _BLOCK
        missing = line - self._upto(low)
        data = self.read(at, min(at + _BLOCK, self.end))
        found = -1
        while missing:
            found = data.find(b"\n", found + 1)
            if found < 0:
                return self.end
            missing -= 1
        return at + found + 1

    def _upto(self, block: int) -> int:
        """Newlines in the first `block` whole MiB."""
        if block == 0:
            return 0
        if self._fd < 0:
            return sum(self._count(i) for i in range(block))
        known = min(os.fstat(self._fd).st_size // 8, self.end // _BLOCK)
        if block <= known:
            return self._entry(block - 1)
        count = self._entry(known - 1) if known else 0
        may_write = True
        for index in range(known, block):
            count += self._count(index)
            try:
                if may_write:
                    os.pwrite(self._fd, struct.pack("<Q", count), index * 8)
            except OSError:  # a full disk; an entry after a missing one would leave a hole that reads as 0
                may_write = False
        return count

    def _entry(self, index: int) -> int:
        (count,) = struct.unpack("<Q", os.pread(self._fd, 8, index * 8))
        return int(count)

    def _count(self, block: int) -> int:
        return self.read(block * _BLOCK, (block + 1) * _BLOCK).count(b"\n")
