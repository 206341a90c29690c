"""The gap: the part of a job's output that is gone for ever, because there was more output than its
quota.

The gap is one span of the merged output. The head before it stays for good, the tail behind it
moves on: only the end of the span ever changes, and only upwards. Positions and line numbers keep
their meaning.

The file `gap` has two slots of 96 bytes, written in turn, so that one of them is whole at any
moment. A slot is twelve 64-bit integers: (from, to) of the merged output; (from, to, newlines) of
each log; (from, to) of the records of `order`; which of the three spans of output end with a
newline (1 merged, 2 stdout, 4 stderr); and the CRC-32 of these eleven.

A slot is written *before* the bytes are given back. A reader reads the data first and the gap
second: bytes that then lie in the gap may be zeros, and are discarded.
"""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import closing, suppress

from outlive.core.record import Value
from outlive.errors import OutliveError
from outlive.store.job_dir import GAP, LOGS, JobDir
from outlive.system.fds import Closing

_SLOT = struct.Struct("<12Q")
_TORN_READS = 3


class Hole(Value):
    """A span of the merged output, of one log or of `order` of which nothing is left. No gap: an
    empty span at 0."""

    start: int = 0
    stop: int = 0
    lines: int = 0  # newlines in it
    ends_line: bool = False  # whether its last byte is a newline

    def crossed_by(self, start: int, stop: int) -> bool:
        """Return whether any byte of [start, stop) is gone."""
        return max(start, self.start) < min(stop, self.stop)

    def holds(self, at: int) -> bool:
        return self.start <= at < self.stop

    def around(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Return [start, stop) without the hole, as up to two spans."""
        if not self.crossed_by(start, stop):
            return [(start, stop)] if start < stop else []
        return [(low, high) for low, high in ((start, self.start), (self.stop, stop)) if low < high]

    def kept(self, start: int, stop: int) -> int:
        """Return how many bytes of [start, stop) are still there."""
        gone = min(stop, self.stop) - max(start, self.start)
        return max(0, stop - start) - max(0, gone)

    def plus(self, at: int, count: int) -> int:
        """Return the position that follows the next `count` bytes after `at` that are still
        there."""
        if at < self.start:
            room = self.start - at
            return at + count if count <= room else self.stop + count - room
        return max(at, self.stop) + count

    def minus(self, at: int, count: int) -> int:
        """Return the position at which the last `count` bytes before `at` that are still there
        begin."""
        if at <= self.start:
            return at - count
        room = max(at, self.stop) - self.stop
        return max(at, self.stop) - count if count <= room else self.start - (count - room)


class Gap:
    """One gap in four coordinate systems: `merged` output, `streams` (stdout, stderr), and `order`
    (numbers of records)."""

    def __init__(self, merged: Hole, streams: tuple[Hole, Hole], order: Hole) -> None:
        self.merged = merged
        self.streams = streams
        self.order = order

    def of(self, stream: int | None) -> Hole:
        """Return the hole in one stream's log, or (None) in the merged output."""
        return self.merged if stream is None else self.streams[stream]

    def packed(self) -> bytes:
        numbers = [self.merged.start, self.merged.stop]
        for hole in self.streams:
            numbers += [hole.start, hole.stop, hole.lines]
        flags = sum(hole.ends_line << bit for bit, hole in enumerate((self.merged, *self.streams)))
        numbers += [self.order.start, self.order.stop, flags]
        return _SLOT.pack(*numbers, zlib.crc32(struct.pack("<11Q", *numbers)))


NO_GAP = Gap(Hole(), (Hole(), Hole()), Hole())


def unpacked(data: bytes) -> Gap | None:
    """Return the gap in a slot; None if the slot was never written, or not as a whole."""
    if len(data) < _SLOT.size or zlib.crc32(data[:-8]) != int.from_bytes(data[-8:], "little"):
        return None
    start, stop, *rest, flags, _ = _SLOT.unpack(data)
    streams = (
        Hole(*rest[0:3]).changed(ends_line=bool(flags & 2)),
        Hole(*rest[3:6]).changed(ends_line=bool(flags & 4)),
    )
    if not start <= stop or any(hole.start > hole.stop for hole in streams) or not stop:
        return None
    merged = Hole(start, stop, streams[0].lines + streams[1].lines, ends_line=bool(flags & 1))
    return Gap(merged, streams, Hole(*rest[6:8]))


class GapFile:
    """Reads the newest gap, for one pread(2), or for one failing open(2) while there is none. Close
    it after use."""

    def __init__(self, job: JobDir) -> None:
        self._job = job
        self._fd = -1
        self._data = b""
        self._gap = NO_GAP

    def newest(self) -> Gap:
        """Return the gap as it is now; NO_GAP if there is none. If it has not changed, this is the
        same object as before."""
        if self._fd < 0:
            try:
                self._fd = self._job.open_file(GAP)
            except OSError:
                return NO_GAP
        # A writer that is faster than this pread(2) may tear both slots
        for _ in range(_TORN_READS):
            data = os.pread(self._fd, 2 * _SLOT.size, 0)
            if data == self._data:
                break
            slots = [unpacked(data[: _SLOT.size]), unpacked(data[_SLOT.size :])]
            whole = [slot for slot in slots if slot is not None]
            if whole:
                self._data = data
                self._gap = max(whole, key=lambda one: one.merged.stop)
                break
        return self._gap

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class GapWriter:
    """Writes the gap, for the supervisor. Errors of `__init__` and `write`: OSError."""

    def __init__(self, job: JobDir) -> None:
        self.fd = job.open_file(GAP, os.O_RDWR | os.O_CREAT)
        slots = [unpacked(os.pread(self.fd, _SLOT.size, at * _SLOT.size)) for at in (0, 1)]
        ends = [slot.merged.stop if slot else 0 for slot in slots]
        self._next = ends.index(min(ends))  # the older one, or the one whose writer was killed

    def write(self, gap: Gap) -> None:
        """Make the gap visible: every reader that checks after this returns sees it."""
        os.pwrite(self.fd, gap.packed(), self._next * _SLOT.size)
        self._next = 1 - self._next

    def sync(self) -> None:
        """Make what was written survive a crash of the machine. The file has a constant size, so
        fdatasync(2) waits for no journal."""
        os.fdatasync(self.fd)

    def close(self) -> None:
        os.close(self.fd)


_SPARSE_BYTES = 1 << 20  # what a log is longer than the space it takes, if it is suspicious
_BLOCK = 65_536  # no file system has larger ones: a hole begins at the next one


def output_size(job: JobDir, stream: int) -> int:
    """Return the length of the output in a log; 0 if the log is missing or no regular file.

    A program may have made the log longer than its output is: `truncate -s 1T` makes a log of a terabyte that takes no
    space. The supervisor gives it its length back with the next output. Until then its readers stop at the first hole that
    is not one of ours.
    """
    status = job.log_stat(stream)
    if status is None:
        return 0
    if status.st_size - status.st_blocks * 512 < _SPARSE_BYTES or status.st_size <= job.least_size(stream):
        return status.st_size
    try:
        with Closing(job.open_file(LOGS[stream])) as fd:
            return _end(job, fd, stream, status.st_size)
    except OSError:  # a file system without SEEK_HOLE, or nothing is behind a hole of ours
        return status.st_size


def _end(job: JobDir, fd: int, stream: int, size: int) -> int:
    at = 0
    while (hole := os.lseek(fd, at, os.SEEK_HOLE)) < size:
        behind = _behind_ours(job, stream, hole)
        if behind <= hole:
            first = max(at, hole - _BLOCK)
            return first + len(os.pread(fd, hole - first, first).rstrip(b"\0"))
        at = behind
    return size


def _behind_ours(job: JobDir, stream: int, hole: int) -> int:
    """Return where the last hole ends that is of the quota, or in place of what another program cut out. Read after
    `hole` was seen: each is recorded before it is made."""
    with closing(GapFile(job)) as gaps:
        behind = gaps.newest().streams[stream].stop
    if behind <= hole:
        with suppress(OSError, OutliveError):
            job.read_state()
        behind = job.log_cuts[2 * stream + 1]
    return behind
