"""The gap: what of a job's output is gone for ever, because there was more of it than its quota.

It is one span of the merged output. The head before it stays for good, the tail behind it moves on: only the end of the
span ever changes, and only upwards. Positions and line numbers mean what they always meant.

The file `gap` has two slots of 96 bytes, written in turn, so that one of them is whole at any moment: twelve 64-bit
integers, (from, to) of the merged output, (from, to, newlines) of each log, (from, to) of the records of `order`, which of
the three spans of output end with a newline (1 merged, 2 stdout, 4 stderr), and the CRC-32 of the eleven. It is written *before* the bytes are given back. Who reads looks at the data first and at the gap second:
what then lies in the gap may be zeros and counts for nothing.
"""

from __future__ import annotations

import os
import struct
import zlib

from outlive.store.job_dir import GAP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.store.job_dir import JobDir

_SLOT = struct.Struct("<12Q")
_TORN_LOOKS = 3


class Hole:
    """A span of one coordinate system of which nothing is left. Empty at 0: there is none."""

    __slots__ = ("ends_line", "lines", "start", "stop")

    def __init__(self, start: int = 0, stop: int = 0, lines: int = 0, *, ends_line: bool = False) -> None:
        self.start = start
        self.stop = stop
        self.lines = lines  # newlines in it
        self.ends_line = ends_line  # is its last byte one?

    def crossed_by(self, start: int, stop: int) -> bool:
        """Is something between these positions gone?"""
        return max(start, self.start) < min(stop, self.stop)

    def holds(self, at: int) -> bool:
        return self.start <= at < self.stop

    def kept(self, start: int, stop: int) -> int:
        """How many bytes of [start, stop) are there."""
        gone = min(stop, self.stop) - max(start, self.start)
        return max(0, stop - start) - max(0, gone)

    def plus(self, at: int, count: int) -> int:
        """The position behind `count` more bytes that are there."""
        if at < self.start:
            room = self.start - at
            return at + count if count <= room else self.stop + count - room
        return max(at, self.stop) + count

    def minus(self, at: int, count: int) -> int:
        """The position before the last `count` bytes that are there."""
        if at <= self.start:
            return at - count
        room = max(at, self.stop) - self.stop
        return max(at, self.stop) - count if count <= room else self.start - (count - room)


class Gap:
    """`merged`, `streams` (stdout, stderr) and `order` (numbers of records) are the same gap as each of them counts."""

    __slots__ = ("merged", "order", "streams")

    def __init__(self, merged: Hole, streams: tuple[Hole, Hole], order: Hole) -> None:
        self.merged = merged
        self.streams = streams
        self.order = order

    def of(self, stream: int | None) -> Hole:
        """Of one stream's log, or (None) of the merged output."""
        return self.merged if stream is None else self.streams[stream]

    def packed(self) -> bytes:
        numbers = [self.merged.start, self.merged.stop]
        for hole in self.streams:
            numbers += [hole.start, hole.stop, hole.lines]
        flags = sum(hole.ends_line << bit for bit, hole in enumerate((self.merged, *self.streams)))
        numbers += [self.order.start, self.order.stop, flags]
        return _SLOT.pack(*numbers, zlib.crc32(struct.pack("<11Q", *numbers)))


NO_GAP = Gap(Hole(), (Hole(), Hole()), Hole())


def _unpacked(data: bytes) -> Gap | None:
    """None: never written, or not as a whole."""
    if len(data) < _SLOT.size or zlib.crc32(data[:-8]) != int.from_bytes(data[-8:], "little"):
        return None
    start, stop, *rest, flags, _ = _SLOT.unpack(data)
    streams = Hole(*rest[0:3], ends_line=bool(flags & 2)), Hole(*rest[3:6], ends_line=bool(flags & 4))
    if not start <= stop or any(hole.start > hole.stop for hole in streams) or not stop:
        return None
    merged = Hole(start, stop, streams[0].lines + streams[1].lines, ends_line=bool(flags & 1))
    return Gap(merged, streams, Hole(*rest[6:8]))


class GapFile:
    """A look at the newest record costs one pread(2), or one failing open(2) while there is none. Close it after use."""

    def __init__(self, job: JobDir) -> None:
        self._job = job
        self._fd = -1
        self._data = b""
        self._gap = NO_GAP

    def newest(self) -> Gap:
        """NO_GAP if there is none. The same object as before if nothing has changed."""
        if self._fd < 0:
            try:
                self._fd = self._job.open_file(GAP)
            except OSError:
                return NO_GAP
        for _ in range(_TORN_LOOKS):  # a writer that is faster than this pread may tear both
            data = os.pread(self._fd, 2 * _SLOT.size, 0)
            if data == self._data:
                break
            slots = [_unpacked(data[: _SLOT.size]), _unpacked(data[_SLOT.size :])]
            found = [slot for slot in slots if slot is not None]
            if found:
                self._data = data
                self._gap = max(found, key=lambda one: one.merged.stop)
                break
        return self._gap

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class GapWriter:
    """The supervisor's side. Errors of `__init__` and `write`: OSError."""

    def __init__(self, job: JobDir) -> None:
        self.fd = job.open_file(GAP, os.O_RDWR | os.O_CREAT)
        slots = [_unpacked(os.pread(self.fd, _SLOT.size, at * _SLOT.size)) for at in (0, 1)]
        ends = [slot.merged.stop if slot else 0 for slot in slots]
        self._next = ends.index(min(ends))  # the older one, or the one that somebody was killed over

    def write(self, gap: Gap) -> None:
        """From when this returns, every reader that looks knows."""
        os.pwrite(self.fd, gap.packed(), self._next * _SLOT.size)
        self._next = 1 - self._next

    def sync(self) -> None:
        """What was written survives the machine too. Writes to a file of constant size: no journal is waited for."""
        os.fdatasync(self.fd)

    def close(self) -> None:
        os.close(self.fd)
