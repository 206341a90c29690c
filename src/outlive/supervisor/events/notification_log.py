"""`notification_events.ndjson`: one line for each hit that has a command or a file, or belongs to
the one pattern in the form of agent-exec. It is the queue of the commands, too.

The line is there before the delivery, with room at its end; what became of the delivery is written
into that room. Commands are run for one line after the other. So a supervisor that takes over goes
on with the first line that lacks a result, and a notification command finds its event in the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import cast

from outlive import limits
from outlive.core import records
from outlive.core.members import parse_json
from outlive.core.record import Value
from outlive.core.records import Definition
from outlive.store import atomic_file, history
from outlive.store.job_dir import NOTIFICATIONS, JobDir
from outlive.supervisor.events.sinks import Delivery, Event, Result, Sinks, matched_event
from outlive.system.fds import Closing, write_all

_RESULTS = b'"delivery_results": '  # as a key, never in a string: there the quotes are escaped
_ERROR_CHARS = 160  # no error is longer
_LONGEST = {"success": False, "attempted_at": "x" * 30, "exit_code": 255, "error": "x" * _ERROR_CHARS}


class Known:
    """Hits that were reported, maybe by a killed supervisor, from their events. They are reported in
    the order of the lines of a stream: those up to the last one of a watch are known."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._last: dict[tuple[str, str, str], int] = {}
        for event in events:
            self.add(event)

    def add(self, event: Event) -> bool:
        """Return whether a hit {watch, pattern, stream, seq} was not known yet; it is from now on."""
        key = (str(event.get("watch")), str(event.get("pattern")), str(event.get("stream")))
        is_new: bool = event["seq"] > self._last.get(key, -1)
        self._last[key] = max(event["seq"], self._last.get(key, -1))
        return is_new

    def has_any(self, watch: records.Watch) -> bool:
        """Return whether a hit of this watch is known. A new watch may have the id of a removed one."""
        return any(known[:2] == (watch.id, watch.pattern) for known in self._last)


class _Place(Value):
    """Where a line stands: its begin, the begin of its results, and its end, as positions in a file
    of which nothing was left out."""

    at: int
    rest: int
    end: int


class NotificationLog:
    """Records hits, and has `sinks` deliver them: to a file at once, to a command in turn.
    `tell(type, **content)` puts an event into the history."""

    def __init__(self, job: JobDir, definition: Definition, sinks: Sinks, tell: Callable[..., None]) -> None:
        self._job = job
        self._definition = definition
        self._sinks = sinks
        self._tell = tell
        self._targets: dict[str, dict[str, str]] = {}  # of each watch, also of those that were removed
        self._gone = 0  # bytes that were left out
        # Up to where every hit is delivered; the end of the file. More than this was written by the job itself
        self._at = self._end = max(0, self._size() - 2 * limits.EVENTS_BYTES)
        self._unrecorded: list[Delivery] = []  # hits that a full disk did not take, and those behind them
        self.known = Known(())
        for at, line in self._lines(self._at):
            event = _event(line)
            if "watch" in event:
                self.known.add(event)
            self._end = at + len(line)
        self._is_inherited = self._end > 0

    @property
    def has_room(self) -> bool:
        """Whether more hits may wait for their turn."""
        return self._end - self._at < limits.EVENTS_BYTES // 2 and len(self._unrecorded) < limits.SINK_QUEUE

    def configure(self, specs: list[records.Watch]) -> None:
        """Deliver the hits of these watches, and those that a killed supervisor had not delivered."""
        self._sinks.dropped = self._targets.keys() - {spec.id for spec in specs}
        self._targets.update({spec.id: spec.targets for spec in specs})
        if self._is_inherited:
            self._is_inherited = False
            if self._next():
                self._sinks.end_predecessors()
            for at, line in self._lines(self._at):
                self._sinks.to_file(self._delivery(at, line))
        self.deliver()

    def add(self, hit: dict[str, object]) -> None:
        """Record a hit {seq, watch, pattern, match_type, stream, line, match, snippet}, and deliver it."""
        event = matched_event(self._definition, self._job, hit)
        targets = self._targets.get(event["watch"], {})
        place = None if self._unrecorded else self._append(event, targets)
        delivery = Delivery(event, targets, [], partial(self._record, place))
        if place is None:
            self._unrecorded.append(delivery)
        self._sinks.to_file(delivery)
        self.deliver()

    def deliver(self) -> None:
        """Run the next command if none is running."""
        while self._sinks.is_free:
            delivery = self._next()
            if delivery is None:
                return
            self._sinks.deliver(delivery)

    def _next(self) -> Delivery | None:
        for at, line in self._lines(self._at) if self._at < self._end else ():
            self._at = at
            delivery = self._delivery(at, line)
            if delivery.left:
                return delivery
        self._at = self._end
        return self._unrecorded.pop(0) if self._unrecorded else None

    # --- the file ---

    def _append(self, event: Event, targets: dict[str, str]) -> _Place | None:
        """Append a hit with room for its results. Return None if the disk is full, or the job removed."""
        longest = [{"sink_type": kind, "target": target, **_LONGEST} for kind, target in targets.items()]
        head = json.dumps(event, ensure_ascii=True).encode()[:-1] + b", "
        line = head + _rest([], delivered=False).ljust(len(_rest(longest, delivered=False))) + b"\n"
        try:
            with Closing(self._job.open_file(NOTIFICATIONS, os.O_RDWR | os.O_CREAT | os.O_APPEND)) as fd:
                size = os.fstat(fd).st_size
                cut = size and os.pread(fd, 1, size - 1) != b"\n"  # its writer was killed in the middle of a line
                try:
                    write_all(fd, b"\n" + line if cut else line)
                except OSError:
                    os.ftruncate(fd, size)
                    raise
        except OSError:
            return None
        at = self._gone + size + bool(cut)
        self._at = min(self._at, at)  # another program has cut the file
        self._end = at + len(line)
        return _Place(at, at + len(head), self._end)

    def _size(self) -> int:
        try:
            return os.stat(NOTIFICATIONS, dir_fd=self._job.fd, follow_symlinks=False).st_size
        except OSError:
            return 0

    def _lines(self, at: int) -> Iterator[tuple[int, bytes]]:
        """Yield the whole lines from a position on, with their positions."""
        with suppress(OSError), os.fdopen(self._job.open_file(NOTIFICATIONS), "rb") as file:
            file.seek(at - self._gone)
            while (line := file.readline(limits.EVENTS_BYTES)).endswith(b"\n"):
                yield at, line
                at += len(line)

    def _delivery(self, at: int, line: bytes) -> Delivery:
        """Return the delivery of a line, as far as it has come. Nothing is left of a line without
        room: its watch had no sinks."""
        event, rest = _event(line) if line.endswith(b" \n") else {}, line.find(_RESULTS)
        results, delivered = event.pop("delivery_results", None), event.pop("delivered", True)
        if "watch" not in event or delivered or rest < 0 or not isinstance(results, list):
            return Delivery({}, {}, [], lambda _: None)
        known = [cast("Result", result) for result in results if isinstance(result, dict)]
        record = partial(self._record, _Place(at, at + rest, at + len(line)))
        return Delivery(event, self._targets.get(event["watch"], {}), known, record)

    def _record(self, place: _Place | None, delivery: Delivery) -> None:
        """Record what became of a delivery so far."""
        if place is None:
            return
        width = place.end - place.rest - 1
        rest = _rest([_shortened(result) for result in delivery.results], delivered=delivery.is_delivered)
        if len(rest) <= width:  # else the watch has got other sinks since
            with suppress(OSError), Closing(self._job.open_file(NOTIFICATIONS, os.O_WRONLY)) as fd:
                os.pwrite(fd, rest.ljust(width), place.rest - self._gone)
        if place.at == self._at and not delivery.left:
            self._at = place.end

    def bound(self) -> None:
        """Leave out older lines of a file that has become too long, as far as they are delivered. A
        successor needs those behind the position at which it goes on: save that first."""
        if self._end - self._gone > limits.EVENTS_BYTES:
            with suppress(OSError):
                self._leave_out_older()

    def _leave_out_older(self) -> None:
        """The first line, and an event, say how many lines are gone. Errors: OSError."""
        lines = list(self._lines(max(self._gone, min(self._at, self._end - 2 * limits.EVENTS_BYTES))))
        keep = min(self._at, self._end - limits.EVENTS_BYTES // 2)
        older = [line for at, line in lines if at + len(line) <= keep]
        if not older:
            return
        count = len(older) + max(0, _event(older[0]).get("count", 1) - 1)
        note = json.dumps({"event_type": history.LEFT_OUT, "count": count}).encode() + b"\n"
        newer = b"".join(line for _, line in lines[len(older) :])
        atomic_file.write_atomic(self._job.fd, NOTIFICATIONS, note + newer)
        self._gone = self._end - len(note) - len(newer)
        self._tell(history.LEFT_OUT, file=NOTIFICATIONS, count=count)


def _rest(results: Sequence[object], *, delivered: bool) -> bytes:
    """Return the rest of a line, from the results on."""
    return json.dumps({"delivery_results": results, "delivered": delivered}, ensure_ascii=True).encode()[1:]


def _shortened(result: Result) -> Result:
    return {**result, "error": result["error"][:_ERROR_CHARS]} if "error" in result else result


def _event(line: bytes) -> Event:
    """Return the event of a hit, or what was left out; nothing for a line that was cut off by a kill, or is not ours."""
    with suppress(ValueError):
        event: Event = parse_json(line)
        if isinstance(event, dict) and type(event.get("watch", "")) is str:
            return event if type(event.get("seq" if "watch" in event else "count")) is int else {}
    return {}
