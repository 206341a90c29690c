"""Reads a job's directory for a mirror: everything that is new, in the order in which it may be
shown."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from outlive.core.records import State
from outlive.errors import OutliveError
from outlive.hosts.ssh.connecting import wire
from outlive.hosts.ssh.connecting.words import Events, Follow, Status
from outlive.store import history
from outlive.store.job_dir import MASKS, ORDER, JobDir
from outlive.store.output.gap import NO_GAP, Gap
from outlive.store.output.masks import HEADER
from outlive.store.output.merged import Output
from outlive.store.output.order import RECORD
from outlive.system import fds

Piece = tuple[int, int, int]  # of a log: its stream, offset, bytes

_PIECE_BYTES = 4 * wire.CHUNK
_TURN_S = 0.05  # so long is sent before requests have their turn, and at least one piece
_NEAR_QUOTA = 1 << 28


class Source:
    """What a mirror has of a job, and what it gets next."""

    def __init__(self, job: JobDir, follow: Follow, quota_bytes: int = 1) -> None:
        """`follow`: what the mirror has."""
        self._job = job
        self._at = follow.at
        self._records = follow.records
        self._masks = list(follow.masks)
        self._gap = bytes.fromhex(follow.gap)
        self._quota: int = quota_bytes
        self._events = 0  # where the next event begins in the file
        self._last_event = 0  # `n` of the last event sent
        self._state: State | None = None
        self._snapshot: tuple[State | None, int] = (None, 0)
        # The run of the last record there ends here at the latest, even if a power cut there took
        # the next record and left the bytes
        following = self._starts(self._records, self._records, NO_GAP)
        if following and self._records and any(following[0][2]):  # zeros: it lies in the gap
            self._at = min(self._at, following[0][1])

    def look(self, state: State | None) -> None:
        """Take note of how the job is now. What is sent next comes up to this: the state is older
        than the output, so that what it says of the output holds at the mirror too."""
        with Output(self._job, stored=True) as output:
            self._snapshot = state, output.end

    def turn(self) -> Iterator[bytes | Piece]:
        """Yield the next messages: bytes, or a piece of a log that follows its header. None when
        the mirror has all of what `look` saw."""
        state, end = self._snapshot
        if self._at < end:
            yield from self._output(end)
            if self._at < end:
                return
        yield from self._places()
        yield from self._news(state)

    @property
    def is_behind(self) -> bool:
        return self._at < self._snapshot[1]

    # --- output ---

    def _output(self, end: int) -> Iterator[bytes | Piece]:
        with Output(self._job, stored=True) as output:
            until = time.monotonic() + _TURN_S
            while self._at < min(end, output.end) and time.monotonic() < until:
                piece = self._long_piece(output, end)
                if piece is not None:
                    stream, offset, count = piece
                    yield wire.header(stream, offset, count)
                    yield piece
                    self._at += count
                    continue
                at, records, messages = output.steady(self._next, output)
                if (at, records) == (self._at, self._records) and not messages:
                    break
                self._at, self._records = at, records
                for kind, place, data in messages:
                    if kind == wire.GAP:
                        self._gap = data
                    yield wire.message(kind, place, data)

    def _long_piece(self, output: Output, end: int) -> Piece | None:
        """Return a long piece of one stream that comes next; the kernel copies it from the log to
        the connection. None: there is none, or the quota may take some of it meanwhile."""
        if not self._records or output.gap is not NO_GAP or 0 < self._quota < output.end + _NEAR_QUOTA:
            return None
        starts = self._starts(self._records - 1, self._records, NO_GAP)
        start, record = starts[0][1], starts[0][2]
        stop = min(end, output.end, starts[1][1] if len(starts) > 1 else end)
        count = min(stop - self._at, _PIECE_BYTES)
        if count < wire.CHUNK or self._at < start or output.missing[record[8]].stop:
            return None
        stream, offset = record[8], int.from_bytes(record[16:24], "little")
        return stream, offset + self._at - start, count

    def _next(self, output: Output) -> tuple[int, int, list[tuple[int, int, bytes]]]:
        """Return (position after it, records after it, messages). Nothing here changes: this is
        repeated if the gap grows meanwhile."""
        messages: list[tuple[int, int, bytes]] = []
        at, records = self._at, self._records
        stop, gap = output.end, output.gap
        if gap is not NO_GAP:
            if at >= gap.merged.start:
                # Only now: the mirror knows by the lengths of its files how far it is, and a gap
                # that it knew before would be no part of them
                if (packed := gap.packed()) != self._gap:
                    messages.append((wire.GAP, 0, packed))
                at, records = max(at, gap.merged.stop), max(records, gap.order.stop)
            else:
                stop = gap.merged.start
        stop = min(stop, at + wire.CHUNK)
        if at >= stop:
            return at, records, messages
        starts = self._starts(output.record_at(at), output.record_at(stop - 1), gap)
        for stream, place, data in output.placed(at, stop, by_record=True):
            while starts and starts[0][1] <= at:
                number, _, record = starts.pop(0)
                if number >= records:
                    messages.append((wire.ORDER, number * RECORD.size, record))
                    records = number + 1
            messages.append((stream, place, data))
            at += len(data)
        return at, records, messages

    def _starts(self, first: int, last: int, gap: Gap) -> list[tuple[int, int, bytes]]:
        """Return (number, position of its first byte, record) of these records of `order`, and of
        those right before them that the mirror has not got: runs without a byte."""
        first = max(min(first, self._records), 0)
        if first < gap.order.stop <= last:
            first = gap.order.stop
        with fds.Closing(self._job.open_file(ORDER)) as fd:
            data = os.pread(fd, (last + 1 - first) * RECORD.size, first * RECORD.size)
        pieces = [data[at : at + RECORD.size] for at in range(0, len(data), RECORD.size)]
        return [(first + n, int.from_bytes(piece[:8], "little"), piece) for n, piece in enumerate(pieces)]

    # --- the other files ---

    def _places(self) -> Iterator[bytes]:
        """Yield the places of masked values: up to where was searched goes last, and is read
        first."""
        for stream, name in enumerate(MASKS):
            before = self._file(name, 0, HEADER.size)
            if len(before) < HEADER.size:
                continue
            known = max(HEADER.size, self._masks[stream])
            pairs = self._file(name, known)
            searched, longest = HEADER.unpack(before)[0], HEADER.unpack(self._file(name, 0, HEADER.size))[1]
            kind = (wire.MASK0, wire.MASK1)[stream]
            if pairs:
                yield wire.message(kind, known, pairs)
            yield wire.message(kind, 0, HEADER.pack(searched, longest))
            self._masks[stream] = known + len(pairs)

    def _file(self, name: str, at: int, count: int = 1 << 20) -> bytes:
        try:
            fd = self._job.open_file(name)
        except OSError:
            return b""
        with fds.Closing(fd):
            return os.pread(fd, count, at)

    # --- state and events ---

    def _news(self, state: State | None) -> Iterator[bytes]:
        try:
            events, self._events = history.read(self._job, after=self._last_event, offset=self._events)
        except (OSError, OutliveError):
            events = []
        if events:
            self._last_event = events[-1]["n"]
        for first in range(0, len(events), wire.EVENTS_AT_ONCE):
            yield Events(events=events[first : first + wire.EVENTS_AT_ONCE]).packed()
        if state is not None and state != self._state:
            self._state = state
            yield Status(state=state).packed()
