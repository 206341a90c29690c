"""Read one stream's log line by line while it grows, in pieces that take about equally long however
costly the pattern is."""

from __future__ import annotations

import os
import time

from outlive import limits
from outlive.store.job_dir import LOGS, JobDir
from outlive.store.output.gap import GapFile
from outlive.store.output.masks import Mask

# of output that is searched in one go: as much as takes about SCAN_S
_SCAN_BYTES = (4_096, 1_048_576)
_LINE_BYTES = 262_144  # a longer line is searched in pieces


class Scanner:
    """`offset`: where the first line begins that was not handed out yet. Bytes in the gap are
    skipped. Close it after use."""

    def __init__(self, job: JobDir, stream: int, offset: int) -> None:
        self._job = job
        self._fd = -1
        self.stream = stream
        self.offset = offset
        self._gaps = GapFile(job)
        self._mask = Mask.of(job, stream)
        self.skipped = 0  # bytes that were gone before they could be handed out
        self._size = _SCAN_BYTES[0] * 16
        self._began = 0.0
        self._reopen()

    def _reopen(self) -> bool:
        """Open the log if it is another file than the open one, which was deleted and made again;
        return whether it was."""
        try:
            there = os.stat(LOGS[self.stream], dir_fd=self._job.fd, follow_symlinks=False)
            if self._fd >= 0 and os.path.samestat(there, os.fstat(self._fd)):
                return False
            fd = self._job.open_file(LOGS[self.stream])
        except OSError:
            return False
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = fd
        return True

    @property
    def end(self) -> int:
        return os.fstat(self._fd).st_size if self._fd >= 0 else 0

    @property
    def behind(self) -> int:
        """How many bytes were not handed out as whole lines yet; the last of them may be an
        unfinished line."""
        return max(0, self.end - self.offset)

    def whole_lines(self) -> tuple[int, bytes]:
        """Return the offset and the text of the next whole lines; the text is empty if there are
        none yet. Call `searched` after they were searched."""
        self._began = time.monotonic()
        data = self._read(self._size)
        # A progress line may go on for hours without a newline: each state of it that was replaced
        # by another one is whole
        cut = data.rfind(b"\n") + 1 or data.rfind(b"\r", 0, -1) + 1
        # A long line: read on to its end, or up to _LINE_BYTES
        if not cut and len(data) == self._size:
            data = self._read(_LINE_BYTES)
            cut = data.find(b"\n") + 1 or (len(data) if len(data) == _LINE_BYTES else 0)
        at, hole = self.offset, self._gaps.newest().streams[self.stream]
        if not cut and data and at + len(data) == hole.start < hole.stop:
            cut = len(data)  # its rest is gone
        self.offset += cut
        return at, data[:cut]

    def _read(self, count: int) -> bytes:
        """Return at most `count` bytes from `offset` on, up to the gap; if the gap has grown over
        them, bytes behind it."""
        while True:
            hole = self._gaps.newest().streams[self.stream]
            if hole.holds(self.offset):
                self.skipped += hole.stop - self.offset
                self.offset = hole.stop
            # If only the other stream lost output, the hole in this one is empty, and its lines
            # continue across it
            most = min(count, hole.start - self.offset) if self.offset < hole.start < hole.stop else count
            if self._mask is not None:
                most = max(0, min(most, self._mask.searched - self.offset))
            data = os.pread(self._fd, most, self.offset) if self._fd >= 0 else b""
            if self._mask is not None:
                data = self._mask.applied(self.offset, data)
            if not data and most and self._reopen():
                continue
            hole = self._gaps.newest().streams[self.stream]
            if not hole.crossed_by(self.offset, self.offset + len(data)):
                return data

    def searched(self) -> None:
        """Make the next piece larger or smaller, by how long the search of the last one took."""
        took = time.monotonic() - self._began
        low, high = _SCAN_BYTES
        if took > limits.SCAN_S:
            self._size = max(low, self._size // 2)
        elif took < limits.SCAN_S / 3:
            self._size = min(high, self._size * 2)

    def unfinished(self) -> tuple[int, bytes]:
        """Return the offset and the text so far of the unfinished last line. Call it when no whole
        line is left."""
        data = self._read(_LINE_BYTES)
        return self.offset, data

    def line_start(self, offset: int) -> int:
        """Return where the line begins that holds byte `offset` (at most _LINE_BYTES before it)."""
        hole = self._gaps.newest().streams[self.stream]
        offset = hole.stop if hole.holds(offset) else offset
        first = max(0, offset - _LINE_BYTES, hole.stop if hole.start < hole.stop <= offset else 0)
        before = os.pread(self._fd, offset - first, first) if self._fd >= 0 else b""
        return first + max(before.rfind(b"\n"), before.rfind(b"\r")) + 1

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        if self._mask is not None:
            self._mask.close()
            self._mask = None
        self._gaps.close()
