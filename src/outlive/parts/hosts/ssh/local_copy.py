"""The local copy of a job that runs elsewhere: its files, written at the positions that they have
there, and its events.

How far the copy is stands in the lengths of its files and in nothing else. So a mirror that was
killed at any moment is followed by another one, which goes on at the exact byte.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

from outlive.core.records import State
from outlive.parts.hosts.ssh.connecting import wire
from outlive.parts.hosts.ssh.connecting.words import Follow
from outlive.store import atomic_file, history
from outlive.store.job_dir import EVENTS, GAP, LOGS, MASKS, META, ORDER, STATE, JobDir
from outlive.store.output.gap import NO_GAP, Gap, GapFile, GapWriter, unpacked
from outlive.store.output.masks import HEADER
from outlive.store.output.order import RECORD
from outlive.supervisor.output.quota import Quota

_SLOT_BYTES = 96  # of `gap`
_SLACK_BYTES = 1 << 28  # the other machine sends what the quota has not taken yet (far/source.py, _NEAR_QUOTA)
_SLACK_RECORDS = 4_096  # runs without a byte
_MOST_BYTES = 1 << 46  # of output: a reader walks its positions


class LocalCopy:
    """The files of one job. Errors of all that writes: OSError; nothing is lost then, and the next
    connection sends it again. Close it after use."""

    def __init__(self, job: JobDir, quota_bytes: int) -> None:
        self._job = job
        self._quota = quota_bytes
        self._fds = [job.open_file(name, os.O_RDWR | os.O_CREAT) for name in (*LOGS, ORDER)]
        self._masks = [job.open_file(name, os.O_RDWR) for name in MASKS] if job.has(MASKS[0]) else []
        reader = GapFile(job)
        self._gap = reader.newest()
        reader.close()
        self._mend()

    def follow(self) -> Follow:
        """Return the word that asks for what is not here already."""
        at, records = self._position()
        masks = [os.fstat(fd).st_size for fd in self._masks] or [0, 0]
        gap = "" if self._gap is NO_GAP else self._gap.packed().hex()
        return Follow(job=self._job.job_id, at=at, records=records, masks=masks, gap=gap)

    @property
    def end(self) -> int:
        """The length of the merged output that is here."""
        return self._position()[0]

    def take(self, kind: int, at: int, data: wire.Content) -> None:
        """Write what has come. Errors: Nonsense."""
        self._require_next(kind, at, data)
        if isinstance(data, wire.Unread):
            data.move(self._fds[kind], at)
        elif kind <= wire.ORDER:
            _write_at(self._fds[kind], data, at)
        elif kind in (wire.MASK0, wire.MASK1):
            if self._masks:
                _write_at(self._masks[kind - wire.MASK0], data, at)
        elif kind == wire.GAP:
            self._take_gap(bytes(data))

    def _require_next(self, kind: int, at: int, data: wire.Content) -> None:
        """Raise Nonsense unless this follows what is here: then no position is claimed for which
        nothing has come, and the disk holds no more than the quota of the job allows."""
        if kind in (wire.STDOUT, wire.STDERR):
            hole = self._gap.streams[kind]
            if at > self._ends()[kind]:
                raise wire.Nonsense(f"bytes for position {at:,} of a log of {self._size(kind):,} bytes")
            held = hole.kept(0, at)
            if self._quota and held > 2 * self._quota + _SLACK_BYTES:
                raise wire.Nonsense(f"more output than the quota of {self._quota:,} bytes")
        elif kind == wire.ORDER:
            self._require_record(at, bytes(data) if not isinstance(data, wire.Unread) else b"")
        elif kind in (wire.MASK0, wire.MASK1) and self._masks:
            size = os.fstat(self._masks[kind - wire.MASK0]).st_size
            if at > max(size, HEADER.size):
                raise wire.Nonsense(f"a masked place for position {at:,} of {size:,} bytes")

    def _require_record(self, at: int, data: bytes) -> None:
        end, records = self._position()
        if len(data) != RECORD.size or at % RECORD.size or at > max(self._records(), records) * RECORD.size:
            raise wire.Nonsense(f"a record of the order at {at:,}, and there are {records:,}")
        start, stream, offset, _ = RECORD.unpack(data)
        if stream > 1 or start > end or offset > self._ends()[stream]:
            raise wire.Nonsense(f"a record of the order for position {start:,} of an output of {end:,} bytes")
        if records > end + _SLACK_RECORDS:
            raise wire.Nonsense(f"{records:,} records of the order of {end:,} bytes")

    def _take_gap(self, data: bytes) -> None:
        gap = unpacked(data[:_SLOT_BYTES])
        if gap is None or not self._is_possible(gap):
            raise wire.Nonsense("a gap behind the output, or none")
        writer = GapWriter(self._job)
        try:
            writer.write(gap)  # before the bytes go, as everywhere
        finally:
            writer.close()
        self._gap = gap
        Quota(self._job, self._quota or 1, lambda *_, **__: None)  # gives the bytes in the gap back

    def _is_possible(self, gap: Gap) -> bool:
        lengths = [hole.stop - hole.start for hole in gap.streams]
        begins = all(hole.start <= end for hole, end in zip(gap.streams, self._ends(), strict=True))
        fits = sum(lengths) == gap.merged.stop - gap.merged.start
        has_lines = all(hole.lines <= length for hole, length in zip(gap.streams, lengths, strict=True))
        most = gap.merged.stop + _SLACK_RECORDS
        is_short = gap.merged.stop <= _MOST_BYTES and gap.order.start <= gap.order.stop <= most
        return gap.merged.start <= self.end and begins and fits and has_lines and is_short

    # --- how far it is ---

    def cut(self, state: State) -> State:
        """Return the state that comes with this copy: of the logs it speaks as far as they are here."""
        ends = self._ends()
        sizes = state.log_bytes and [*map(min, state.log_bytes, ends)]
        cuts = state.log_cuts and [min(at, ends[number // 2]) for number, at in enumerate(state.log_cuts)]
        return State.replace(state, log_bytes=sizes, log_cuts=cuts)

    def _ends(self) -> list[int]:
        """Return the positions at which the logs end."""
        return [max(self._size(stream), self._gap.streams[stream].stop) for stream in range(len(LOGS))]

    def _position(self) -> tuple[int, int]:
        """Return the length of the merged output, and how many records of `order` are here."""
        records, gap = self._records(), self._gap
        if gap is not NO_GAP and gap.order.start <= records - 1 < gap.order.stop:
            return gap.merged.stop, gap.order.stop
        at = 0
        if records:
            start, stream, offset, _ = self._record(records - 1)
            at = start + max(0, self._size(stream) - offset)
        if gap is not NO_GAP:
            return max(at, gap.merged.stop), max(records, gap.order.stop)
        return at, records

    def _records(self) -> int:
        return os.fstat(self._fds[wire.ORDER]).st_size // RECORD.size

    def _record(self, number: int) -> tuple[int, int, int, int]:
        data = os.pread(self._fds[wire.ORDER], RECORD.size, number * RECORD.size)
        start, stream, offset, when = RECORD.unpack(data.ljust(RECORD.size, b"\0"))
        return start, min(stream, 1), offset, when

    def _size(self, stream: int) -> int:
        return os.fstat(self._fds[stream]).st_size

    def _mend(self) -> None:
        """Cut off what does not fit together: after a power cut, one file may be longer than
        another one, and what is missing can be had again."""
        records, gap = self._records(), self._gap
        while records and (gap is NO_GAP or records > gap.order.stop):
            start, stream, offset, when = self._record(records - 1)
            other = max(0, start - offset)  # so much of the other stream stands before this run
            sizes = [max(self._size(one), gap.streams[one].stop) for one in (0, 1)]
            if when and sizes[stream] >= offset and sizes[1 - stream] >= other:
                if self._size(1 - stream) > other:
                    os.ftruncate(self._fds[1 - stream], other)
                break
            # What stands before this run is all that may stay
            os.ftruncate(self._fds[stream], min(self._size(stream), offset))
            os.ftruncate(self._fds[1 - stream], min(self._size(1 - stream), other))
            records -= 1
        os.ftruncate(self._fds[wire.ORDER], records * RECORD.size)
        if not records and gap is NO_GAP:
            for stream in (0, 1):
                os.ftruncate(self._fds[stream], 0)

    # --- the end ---

    def sync(self) -> None:
        """Write everything to the disk: then the job's directory there may be deleted. Errors:
        OSError."""
        for fd in (*self._fds, *self._masks):
            os.fsync(fd)
        atomic_file.sync(self._job.fd, (META, STATE, EVENTS, GAP))
        os.fsync(self._job.fd)

    def close(self) -> None:
        for fd in (*self._fds, *self._masks):
            os.close(fd)
        self._fds, self._masks = [], []


def _write_at(fd: int, data: bytes | memoryview, at: int) -> None:
    while data:
        written = os.pwrite(fd, data, at)
        data, at = data[written:], at + written


Event = dict[str, Any]

# The mirror tells these itself, from the state
_OWN = frozenset({history.FINISHED, history.LEFT_OUT})


class FarEvents:
    """The events that came. `job`: its directory here, in whose history an earlier mirror may have
    put some of them."""

    def __init__(self, job: JobDir) -> None:
        self._job = job
        self._here: Counter[tuple[str, int, str]] | None = None  # event → how often it is here
        self._last = 0  # `n` of the newest event

    def new(self, events: list[Event]) -> Iterator[Event]:
        """Yield the events that are not here, without the number that they have there."""
        if self._here is None:
            self._here = Counter(map(_key, history.read(self._job)[0]))
        for event in events:
            key, number = _key(event), event.pop("n")
            if number <= self._last or event["type"] in _OWN:
                continue
            self._last = number
            if self._here[key]:
                self._here[key] -= 1
            else:
                yield event


def _key(event: Event) -> tuple[str, int, str]:
    return event["type"], event["seq"], event["at"]
