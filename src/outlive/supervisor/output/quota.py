"""A job that puts out more than its quota goes on. The head of its output stays, the end of it
moves on, and what lies between is given back to the file system: recorded first
(store/output/gap.py), then punched out of the logs.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from outlive.store import history
from outlive.store.job_dir import LOGS, ORDER, JobDir
from outlive.store.output.gap import NO_GAP, Gap, GapFile, GapWriter, Hole
from outlive.store.output.merged import Output
from outlive.system import fault_points, hole_punch

_QUOTA_HEAD = 4  # the first quarter of the quota is for the head, the rest for the tail
_QUOTA_STEP = 16  # beyond the quota, output is given back in steps of a sixteenth of it, ...
_QUOTA_STEP_BYTES = 4 * 1024**2  # ... at most this: each byte of a step is read once more, for its newlines
_GAP_LINE_BYTES = 65_536  # a gap is shifted by at most this to begin and end between lines
GAP_SYNC_S = 0.5  # how often the record of a growing gap is synced; a power cut loses the record of the steps since
_GAP_EVENT_S = 60.0  # between two events about a growing gap

_BLOCK = 65_536  # a larger block of a file system would be given back one step later
_READ = 1 << 18
_RECORD_BYTES = 32  # of `order`
_CONTINUATION = bytes(range(0x80, 0xC0))  # of UTF-8: a character does not begin with it
NEVER = sys.maxsize


class Quota:
    """`full_at`: the merged output's length from which on `make_room` is to be called before more
    is stored; until then a quota makes no system call. `turn_bytes`: most to be stored between two
    such looks. `quota_bytes` 0: no quota."""

    def __init__(self, job: JobDir, quota_bytes: int, tell: Callable[..., None]) -> None:
        self._job = job
        self._quota = quota_bytes
        self._tell = tell
        self._step = min(_QUOTA_STEP_BYTES, quota_bytes // _QUOTA_STEP)
        self._writer: GapWriter | None = None
        self._fds: list[int] = []  # both logs, `order`
        self._gap = self._punched = NO_GAP
        self._possible = True
        self._told: Gap = NO_GAP
        self._sync_at = 0.0
        self._tell_at = 0.0
        self.turn_bytes = self._step or NEVER
        self.full_at = quota_bytes or NEVER
        if quota_bytes:
            self._resume()

    def _resume(self) -> None:
        """Do again what the last record says: its writer may have been killed before it did it."""
        look = GapFile(self._job)
        self._gap = look.newest()
        look.close()
        if self._gap is NO_GAP:
            return
        self._set_limit()
        try:
            self._open()
            times = [(status.st_atime_ns, status.st_mtime_ns) for status in map(os.fstat, self._fds)]
            self._punch()
            for fd, both in zip(self._fds, times, strict=True):  # punching is no output
                os.utime(fd, ns=both)
        except OSError:  # the next step tries again
            return
        finally:
            self._close()

    def make_room(self, end: int) -> bool:
        """The output is `end` bytes long. False: nothing can be given back here, and no more is to be stored."""
        if not self._possible:
            return False
        try:
            self._open()
            self._possible = self._can_punch()
            if self._possible:
                self._grow(end)
        except Exception:  # noqa: BLE001 - no mistake in here may cost the job its supervisor
            self.full_at = end + max(self._step, self.full_at // 64)  # a full disk, or an edited directory
        finally:
            self._close()
        return self._possible

    def finish(self) -> None:
        """The last word about the gap goes into the history. Call it when no more output comes."""
        if self._gap is not self._told:
            self._tell_of_gap()

    def _close(self) -> None:
        for fd in self._fds:
            os.close(fd)
        self._fds = []
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _open(self) -> None:
        """For one step: another program may put another file in the place of a log."""
        for name in (*LOGS, ORDER):
            self._fds.append(self._job.open_file(name, os.O_RDWR))
        self._writer = GapWriter(self._job)

    def _can_punch(self) -> bool:
        """Asked where nothing is lost by it: behind the end of our own file."""
        if self._gap is not NO_GAP:
            return True
        assert self._writer is not None
        try:
            hole_punch.punch(self._writer.fd, _BLOCK, 2 * _BLOCK)
        except OSError as error:
            if error.errno in hole_punch.UNSUPPORTED:
                return False
            raise
        return True

    # --- one step ---

    def _grow(self, end: int) -> None:
        """Record that the gap is longer, then make it so."""
        assert self._writer is not None
        with Output(self._job) as output:
            gap = self._next(output, end)
        self._writer.write(gap)
        if time.monotonic() >= self._sync_at:  # before the bytes go: a power cut must not leave zeros without a record
            self._writer.sync()
            self._sync_at = time.monotonic() + GAP_SYNC_S
        self._gap = gap
        fault_points.at("gap_recorded")
        self._set_limit()
        self._punch()
        fault_points.at("gap_made")
        if time.monotonic() >= self._tell_at:
            self._tell_of_gap()

    def _next(self, output: Output, end: int) -> Gap:
        old = self._gap
        start = old.merged.start if old is not NO_GAP else self._head(output)
        begin = max(start, old.merged.stop)
        wanted = end - (self._quota - self._step - start)
        # There may be much after a takeover: a step at a time, so that output goes on
        stop = self._between_lines(output, max(begin, min(wanted, begin + 4 * self._step)), end)
        offsets = output.offsets_at(stop)
        first = [hole.start for hole in old.streams] if old is not NO_GAP else output.offsets_at(start)
        streams = [self._longer(stream, old.streams[stream], first[stream], offsets[stream]) for stream in (0, 1)]
        order_start = old.order.start if old is not NO_GAP else output.record_at(start) + 1
        order = Hole(order_start, max(order_start, output.record_at(stop)))
        merged = Hole(start, stop, ends_line=output.read(stop - 1, stop) == b"\n")
        return Gap(merged, (streams[0], streams[1]), order)

    def _longer(self, stream: int, old: Hole, start: int, stop: int) -> Hole:
        """The hole in one log; each byte of it is read once, for its newlines."""
        at, lines, ends_line = old.stop or start, old.lines, old.ends_line
        while at < stop:
            data = os.pread(self._fds[stream], min(_READ, stop - at), at)
            if not data:
                break
            at += len(data)
            lines += data.count(b"\n")
            ends_line = data.endswith(b"\n")
        return Hole(start, stop, lines, ends_line=ends_line)

    def _head(self, output: Output) -> int:
        """Return where the gap is to begin: after a newline, if one is near."""
        nominal = self._quota // _QUOTA_HEAD
        first = max(0, nominal - min(_GAP_LINE_BYTES, nominal // 2))
        newline = output.read(first, nominal).rfind(b"\n")
        return first + newline + 1 if newline >= 0 else nominal

    def _between_lines(self, output: Output, at: int, end: int) -> int:
        """Return where the gap is to end: after the next newline, if one is near, else between characters."""
        data = output.read(at, min(end, at + min(_GAP_LINE_BYTES, self._step)))
        newline = data.find(b"\n")
        if newline >= 0:
            return at + newline + 1
        return at + min(3, len(data) - len(data.lstrip(_CONTINUATION)))

    def _punch(self) -> None:
        """What is in the gap, and was not yet the last time. The last block was kept as a whole
        then: that one again."""
        old = self._punched
        for stream, hole in enumerate(self._gap.streams):
            hole_punch.punch(self._fds[stream], max(hole.start, old.streams[stream].stop - _BLOCK), hole.stop)
            fault_points.at("gap_half")
        records, done = self._gap.order, old.order.stop * _RECORD_BYTES - _BLOCK
        hole_punch.punch(self._fds[2], max(records.start * _RECORD_BYTES, done), records.stop * _RECORD_BYTES)
        self._punched = self._gap

    def _set_limit(self) -> None:
        self.full_at = self._quota + self._gap.merged.stop - self._gap.merged.start

    def _tell_of_gap(self) -> None:
        hole = self._gap.merged
        lines = sum(stream.lines for stream in self._gap.streams)
        self._told = self._gap
        self._tell_at = time.monotonic() + _GAP_EVENT_S
        self._tell(history.GAP, from_seq=hole.start, to_seq=hole.stop, bytes=hole.stop - hole.start, lines=lines)
