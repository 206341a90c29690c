"""The history of a job: `events.ndjson`, one JSON object a line, appended by whoever holds the job's lock.

Each event has `n` (1, 2, 3 … in the order in which they were written: the exact cursor), `seq` (how far the output was,
or for a watch hit where its line begins), `at` and `type`; the other members belong to the type.
"""

from __future__ import annotations

import os

from outlive import fastjson
from outlive.core.units import timestamp
from outlive.store.job_dir import EVENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.core.records import State
    from outlive.store.job_dir import JobDir

    Event = dict[str, Any]

STARTED = "started"  # pid
ADOPTED = "adopted"  # by: pid of the process that supervises it from here on
WATCH_HIT = "watch_hit"  # watch, pattern, match_type, stream, line, match
WATCH_SUPPRESSED = "watch_suppressed"  # watch, count, from_seq, to_seq, line: hits that were too many to be told each
WATCH_SKIPPED = "watch_skipped"  # stream, bytes: so many of it were gone before they were looked at
WATCH_FAILED = "watch_failed"  # message
INPUT = "waiting_for_input"  # echo
SIGNAL = "signal_sent"  # signal, by, cause, kill_at
RESIZED = "resized"  # cols, rows
MISSING = "output_missing"  # stream, from_byte, to_byte, bytes: what somebody cut out of its log
DROPPED = "output_dropped"  # bytes: so many in all that no disk would take
GAP = "output_gap"  # from_seq, to_seq, bytes, lines: so much of the output is gone, because of the quota
NOTIFIED = "notification_delivered"  # event_type, sink_type, target, watch
NOT_NOTIFIED = "notification_failed"  # the same, and error
DESCENDANTS = "descendants_left"  # count
FINISHED = "finished"  # state, exit_code, signal, reason, duration_ms, message

_HELD_BYTES = 65_536
# Written first in every line, so that a reader finds its place without parsing everything before it
_N, _SEQ = b'{"n":', b'"seq":'


class History:
    """The writer. What a full disk does not take is held, and written with the next event that it takes."""

    def __init__(self, job: JobDir) -> None:
        self._job = job
        self._fd = -1
        self._count = 0
        self._held = b""
        self._open()

    def _open(self) -> bool:
        if self._fd >= 0:
            return True
        try:
            self._fd = self._job.open_file(EVENTS, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except OSError:  # full or removed: a history is no reason to fail a job
            return False
        data = os.pread(self._fd, os.fstat(self._fd).st_size, 0)
        self._count += data.count(b"\n")
        if data and not data.endswith(b"\n"):  # whoever wrote it was killed in the middle
            self._held = b"\n" + self._held
            self._count += 1
        return True

    def add(self, kind: str, seq: int, **content: Any) -> None:
        ready = self._open()
        self._count += 1
        event = {"n": self._count, "seq": seq, "at": timestamp(), "type": kind, **content}
        self._held = (self._held + fastjson.dumps(event, separators=(",", ":")).encode() + b"\n")[-_HELD_BYTES:]
        if not ready:
            return
        try:
            size = os.fstat(self._fd).st_size
            written = os.write(self._fd, self._held)
            if written < len(self._held):
                os.ftruncate(self._fd, size)
            else:
                self._held = b""
        except OSError:
            return

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def outcome_of(state: State) -> dict[str, Any]:
    """The content of `finished`."""
    values = {name: getattr(state, name) for name in ("state", "exit_code", "signal", "reason", "duration_ms")}
    return values | ({"message": state.message} if state.message else {})


def size(job: JobDir) -> int:
    """Bytes of the history there are: two equal answers mean that nothing happened in between."""
    try:
        return os.stat(EVENTS, dir_fd=job.fd, follow_symlinks=False).st_size
    except FileNotFoundError:
        return 0


def read(job: JobDir, *, after: int = 0, since_seq: int = 0, offset: int = 0) -> tuple[list[Event], int]:
    """(the events with n > `after` and seq >= `since_seq` in the order of n, where the next one will begin).

    `offset`: pass over so many bytes of the file, an end that an earlier call told.
    """
    try:
        fd = job.open_file(EVENTS)
    except FileNotFoundError:
        return [], 0
    try:
        data = os.pread(fd, max(0, os.fstat(fd).st_size - offset), offset)
    finally:
        os.close(fd)
    found = []
    whole = data.rfind(b"\n") + 1
    for line in data[:whole].splitlines():
        place = _place(line)
        if place is not None and place[0] > after and place[1] >= since_seq:
            try:
                found.append(fastjson.loads(line))
            except ValueError:  # cut off by a kill
                continue
    return found, offset + whole


def _place(line: bytes) -> tuple[int, int] | None:
    """`n` and `seq` of a line; None if it does not begin as ours do."""
    first, _, rest = line.partition(b",")
    second, comma, _ = rest.partition(b",")
    if not (comma and first.startswith(_N) and second.startswith(_SEQ)):
        return None
    n, seq = first[len(_N) :], second[len(_SEQ) :]
    return (int(n), int(seq)) if n.isdigit() and seq.isdigit() else None
