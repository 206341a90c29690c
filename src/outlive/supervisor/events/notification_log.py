"""`notification_events.ndjson`: one line for each hit that has a command or a file, or belongs to
the one pattern in the form of agent-exec.

The line is there before the delivery, with room at its end; what became of the delivery is written
into that room. So a supervisor that takes over sees what is left to do, and a notification command
finds its event in the file.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from outlive import limits
from outlive.core.members import parse_json
from outlive.store import atomic_file, history
from outlive.store.job_dir import NOTIFICATIONS, JobDir
from outlive.supervisor.events.sinks import Delivery, Event, Result
from outlive.system.fds import Closing, write_all

Key = tuple[str, int]
Place = tuple[int, int]

_RESULTS = b'"delivery_results": '  # as a key, never in a string: there the quotes are escaped
_ERROR_CHARS = 160  # no error is longer
_LONGEST = {"success": False, "attempted_at": "x" * 30, "exit_code": 255, "error": "x" * _ERROR_CHARS}


class NotificationLog:
    """Records hits and their deliveries. `tell(type, **content)` puts an event into the history.
    An event is known by its watch and its position."""

    def __init__(self, job: JobDir, tell: Callable[..., None]) -> None:
        self._job = job
        self._tell = tell
        # Of events that are not delivered yet: where the rest of the line begins, and its length
        self._places: dict[Key, Place] = {}

    def add(self, event: Event, targets: dict[str, str]) -> Delivery:
        """Add a hit before its delivery to `targets`, and return that delivery."""
        longest = [{"sink_type": kind, "target": target, **_LONGEST} for kind, target in targets.items()]
        width = len(_rest(longest, delivered=False))
        head = json.dumps(event, ensure_ascii=True).encode()[:-1] + b", "
        at = self._append(head + _rest([], delivered=False).ljust(width) + b"\n")
        if at is not None and targets:
            self._places[_key(event)] = (at + len(head), width)
        return Delivery(event, targets, [], self.record)

    def record(self, delivery: Delivery) -> None:
        """Record what became of a delivery so far."""
        event = delivery.event
        short = [_shortened(result) for result in delivery.results]
        place = self._places.get(_key(event))
        if place is None:  # the disk was full
            return
        at, width = place
        if not delivery.left:
            self.forget(delivery)
        rest = _rest(short, delivered=delivery.is_delivered)
        if len(rest) > width:  # the watch has got more sinks since
            content = {**event, "delivery_results": short, "delivered": delivery.is_delivered}
            self._append(json.dumps(content, ensure_ascii=True).encode() + b"\n")
            return
        try:
            with Closing(self._job.open_file(NOTIFICATIONS, os.O_WRONLY)) as fd:
                os.pwrite(fd, rest.ljust(width), at)
        except OSError:  # removed
            return

    def load(self) -> tuple[set[tuple[str, str, int]], list[Delivery]]:
        """Return the hits that a killed supervisor recorded, as (watch, pattern, seq), and those
        deliveries that it did not end, without their targets. Those of them that have nothing left
        are to be forgotten."""
        known: set[tuple[str, str, int]] = set()
        deliveries: dict[Key, Delivery] = {}
        # A supervisor that was killed in the middle of a turn had not cut the file down yet
        at, data = self._tail(2 * limits.EVENTS_BYTES)
        for line in data.splitlines(keepends=True):
            event = _event(line)
            if event is not None:
                known.add((event["watch"], event.get("pattern", ""), event["seq"]))
                results, delivered = event.pop("delivery_results", []), event.pop("delivered", True)
                if delivered:
                    deliveries.pop(_key(event), None)
                else:
                    deliveries[_key(event)] = Delivery(event, {}, results, self.record)
                    rest = line.find(_RESULTS)
                    self._places[_key(event)] = (at + rest, len(line) - rest - 1)
            at += len(line)
        self._places = {key: place for key, place in self._places.items() if key in deliveries}
        return known, list(deliveries.values())

    def forget(self, delivery: Delivery) -> None:
        """Leave the line of a delivery as it is."""
        self._places.pop(_key(delivery.event), None)

    def _append(self, line: bytes) -> int | None:
        """Append a line and return its position; None if the disk is full, or the job removed."""
        try:
            with Closing(self._job.open_file(NOTIFICATIONS, os.O_RDWR | os.O_CREAT | os.O_APPEND)) as fd:
                at = os.fstat(fd).st_size
                cut = at and os.pread(fd, 1, at - 1) != b"\n"  # its writer was killed in the middle of a line
                try:
                    write_all(fd, b"\n" + line if cut else line)
                except OSError:
                    os.ftruncate(fd, at)
                    raise
                return at + bool(cut)
        except OSError:
            return None

    # --- the bound ---

    def _tail(self, most: int) -> tuple[int, bytes]:
        """Return the last bytes of the file, and where they begin."""
        try:
            with Closing(self._job.open_file(NOTIFICATIONS)) as fd:
                first = max(0, os.fstat(fd).st_size - most)
                return first, os.pread(fd, most, first)
        except OSError:
            return 0, b""

    def bound(self) -> None:
        """Leave out older lines of a file that has become too long. A successor needs those behind
        the position at which it goes on: save that first."""
        try:
            size = os.stat(NOTIFICATIONS, dir_fd=self._job.fd, follow_symlinks=False).st_size
            if size > limits.EVENTS_BYTES:
                self._leave_out_older()
        except OSError:
            return

    def _leave_out_older(self) -> None:
        """Replace the file by its newer half and what of the older one is not delivered yet. The
        first line, and an event, say how many lines are gone. Errors: OSError."""
        first, data = self._tail(2 * limits.EVENTS_BYTES)
        at = data.find(b"\n", len(data) - limits.EVENTS_BYTES // 2) + 1 or len(data)
        older = data[:at].splitlines(keepends=True)
        begins = list(accumulate((len(line) for line in older), initial=first))
        kept = [
            (key, older[bisect_right(begins, rest) - 1])
            for key, (rest, _) in sorted(self._places.items(), key=lambda one: one[1])
            if first <= rest < first + at
        ]
        before = _left_out(older[0])
        count = len(older) - len(kept) + (before - 1 if before else 0)
        content = json.dumps({"event_type": history.LEFT_OUT, "count": count}).encode() + b"\n"
        places: dict[Key, Place] = {}
        for key, line in kept:
            places[key] = (len(content) + line.find(_RESULTS), self._places[key][1])
            content += line
        shift = len(content) - (first + at)
        for key, (rest, width) in self._places.items():
            if rest >= first + at:
                places[key] = (rest + shift, width)
        atomic_file.write_atomic(self._job.fd, NOTIFICATIONS, content + data[at:])
        self._places = places
        self._tell(history.LEFT_OUT, file=NOTIFICATIONS, count=count)


def _key(event: Event) -> Key:
    return event["watch"], event["seq"]


def _rest(results: Sequence[object], *, delivered: bool) -> bytes:
    """Return the rest of a line, from the results on."""
    return json.dumps({"delivery_results": results, "delivered": delivered}, ensure_ascii=True).encode()[1:]


def _shortened(result: Result) -> Result:
    return {**result, "error": result["error"][:_ERROR_CHARS]} if "error" in result else result


def _event(line: bytes) -> Event | None:
    """Return the event of a line; None if it was cut off by a kill, or is no hit."""
    try:
        event: Event = parse_json(line)
        return event if isinstance(event["watch"], str) and isinstance(event["seq"], int) else None
    except (ValueError, KeyError, TypeError):
        return None


def _left_out(line: bytes) -> int:
    """Return how many lines were left out before, if this line says so; else 0."""
    try:
        event = parse_json(line)
        return int(event["count"]) if event["event_type"] == history.LEFT_OUT else 0
    except (ValueError, KeyError, TypeError):
        return 0
