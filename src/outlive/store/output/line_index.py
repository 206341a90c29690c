"""At which position each line begins. Line numbers hold for ever, also those of lines behind a
gap."""

from __future__ import annotations

import os
import struct
import time
from bisect import bisect_left

from outlive.store.job_dir import LOGS, JobDir
from outlive.store.output.gap import Hole
from outlive.store.output.merged import Output
from outlive.system.waiting import checkpoint

_BLOCK = 1 << 20  # one entry of the line index
_BLOCKS_AT_ONCE = 16  # are counted in some milliseconds


class Lines:
    """Line numbers of the merged stream, or of one log. Lines are counted from 0 at the job's
    start, for ever.

    Readers keep a sparse index beside the logs: the number of newlines up to the end of each MiB.
    Output never changes, so every writer of an entry writes the same number: no lock is needed, and
    a lost entry is counted again. An entry for a position in the gap means nothing and is not used.
    """

    def __init__(self, job: JobDir, output: Output, stream: int | None = None) -> None:
        self._output = output
        self._stream = stream
        name = "lines" if stream is None else f"lines.{LOGS[stream].removesuffix('.log')}"
        self._fd = -1
        self.searched_to = 0  # by a search that is under way
        if self.end >= _BLOCK:
            try:
                self._fd = job.open_file(name, os.O_RDWR | os.O_CREAT)
            except OSError:  # read-only or full: count without remembering
                self._fd = -1

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    @property
    def end(self) -> int:
        return self._output.end_of(self._stream)

    @property
    def hole(self) -> Hole:
        """The part of it that is gone."""
        return self._output.gap.of(self._stream)

    def read(self, start: int, stop: int) -> bytes:
        if self._stream is None:
            return self._output.read(start, stop)
        return self._output.read_stream(self._stream, start, stop)

    def take(self, start: int, count: int) -> tuple[int, bytes]:
        return self._output.take(start, count, self._stream)

    def known_to(self) -> int:
        """Return the position up to which the index has counts."""
        return os.fstat(self._fd).st_size // 8 * _BLOCK if self._fd >= 0 else 0

    def count(self, until: float | None = None) -> bool:
        """Complete the index in short steps, so that what is asked next finds it complete. Where it
        cannot be written, nothing is counted ahead. Return False if `until` (time.monotonic) came first."""
        while (known := self.known_to()) + _BLOCK <= self.end:
            checkpoint()
            self._output.steady(self._count_some, known // _BLOCK)
            if self.known_to() <= known:
                break
            if until is not None and time.monotonic() >= until:
                return False
        return True

    def _count_some(self, known: int) -> None:
        block = min(known + _BLOCKS_AT_ONCE, self.end // _BLOCK)
        if self.hole.start < block * _BLOCK < self.hole.stop:
            block = -(-self.hole.stop // _BLOCK)
        if block * _BLOCK <= self.end:
            self._upto(block)

    def before(self, seq: int) -> int:
        """Return how many newlines are in [0, seq). A position in the gap counts as the gap's
        end."""
        return self._output.steady(lambda: self._before(min(seq, self.end)))

    def total(self) -> int:
        """Return the number of lines, counting an unfinished last line."""

        def count() -> int:
            whole = self._before(self.end)
            if not self.end:
                return 0
            last = self.hole.ends_line if self.hole.holds(self.end - 1) else self.read(self.end - 1, self.end) == b"\n"
            return whole if last else whole + 1

        return self._output.steady(count)

    def start_of(self, line: int, *, behind_gap: bool = False) -> int:
        """Return the position at which line `line` (from 0) starts, or the end if there are fewer
        lines. For a line that is gone, return where the gap begins, or with `behind_gap` where it
        ends."""
        return self._output.steady(lambda: self._start_of(line, behind_gap=behind_gap))

    def _before(self, seq: int) -> int:
        hole = self.hole
        if hole.stop and hole.holds(seq) and seq > hole.start:
            seq = hole.stop
        block, rest = divmod(seq, _BLOCK)
        at = seq - rest
        if at <= hole.start or at >= hole.stop:
            count = self._upto(block)
        else:  # the last entry before it is in the gap
            count, at = self._before(hole.start), hole.start
        gone = hole.lines if at < hole.stop <= seq else 0
        return count + gone + self.read(at, seq).count(b"\n")

    def _start_of(self, line: int, *, behind_gap: bool) -> int:
        if line <= 0:
            return 0
        hole = self.hole
        if not hole.stop:
            return self._behind_newline(line, 0, self.end)
        first = self._before(hole.start)
        if line <= first:
            return self._behind_newline(line, 0, hole.start)
        if line < first + hole.lines + (not hole.ends_line):
            return hole.stop if behind_gap else hole.start
        if line == first + hole.lines:
            return hole.stop
        return self._behind_newline(line, hole.stop, self.end)

    def _behind_newline(self, line: int, start: int, stop: int) -> int:
        """Return the position behind newline number `line`, which is in [start, stop); `stop` if it
        is not."""
        low = -(-start // _BLOCK) - 1
        # The last block before which fewer newlines were counted
        low += bisect_left(range(low + 1, stop // _BLOCK + 1), line, key=self._upto)
        at = max(start, low * _BLOCK)
        missing = line - self._before(at)
        data = self.read(at, min((low + 1) * _BLOCK, stop))
        newline = -1
        while missing:
            newline = data.find(b"\n", newline + 1)
            if newline < 0:
                return stop
            missing -= 1
        return at + newline + 1

    def _upto(self, block: int) -> int:
        """Return the newlines in the first `block` whole MiB. Their end must not be in the gap."""
        if block == 0:
            return 0
        known = min(os.fstat(self._fd).st_size // 8, self.end // _BLOCK) if self._fd >= 0 else 0
        if block <= known:
            return self._entry(block)
        return self._count_on(known, block)

    def _count_on(self, known: int, block: int) -> int:
        """Count from the entry of `known` on, and write the index."""
        gap, hole = self._output.gap, self.hole
        at = known * _BLOCK
        inside = hole.start < at < hole.stop
        count = self._before(hole.start) if inside else self._entry(known)
        at = hole.start if inside else at
        may_write = self._fd >= 0
        index = known
        while index < block:
            stop, entries = (index + 1) * _BLOCK, 1
            if hole.start < stop < hole.stop:  # all blocks that end in the gap, at once
                entries = -(-hole.stop // _BLOCK) - 1 - index
                count += self.read(at, hole.start).count(b"\n")
                at = hole.start
            else:
                count += self.read(at, stop).count(b"\n") + (hole.lines if at < hole.stop <= stop else 0)
                at = stop
            # If the gap grew meanwhile, `steady` begins anew. An entry after a missing one would
            # leave a hole that reads as 0
            may_write = may_write and self._output.gap is gap and self._remember(index, count, entries)
            index += entries
        return count

    def _remember(self, index: int, count: int, entries: int) -> bool:
        try:
            os.pwrite(self._fd, struct.pack("<Q", count) * entries, index * 8)
        except OSError:  # a full disk
            return False
        return True

    def _entry(self, block: int) -> int:
        if block == 0:
            return 0
        self._output.touch(self._stream, block * _BLOCK)
        (count,) = struct.unpack("<Q", os.pread(self._fd, 8, (block - 1) * 8))
        return int(count)
