"""The history of a job: `events.ndjson`, one JSON object a line, appended by the process that holds
the job's lock.

Each event has `n` (1, 2, 3 … in the order in which they were written: the exact cursor), `seq` (how
far the output was, or for a watch hit where its line begins), `at` and `type`; the other members
belong to the type.

The file is bounded (limits.EVENTS_BYTES). When it is full, a copy replaces it: its first line is
`events_left_out`, behind it stand the events of the older half that say what became of the job,
then a hole, and the newer half where it always stood. So a number of bytes that a reader remembers
still means the same place, and the file is whole at every moment.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Container
from typing import Any

from outlive import limits
from outlive.core.members import parse_json
from outlive.core.records import State
from outlive.core.units import timestamp
from outlive.store.job_dir import EVENTS, JobDir
from outlive.store.root import Store
from outlive.system import fds
from outlive.system.fds import Closing

Event = dict[str, Any]

STARTED = "started"  # pid
ADOPTED = "adopted"  # by: pid of the process that supervises it from here on
WATCH_HIT = "watch_hit"  # watch, pattern, match_type, stream, line, match
# watch, count, from_seq, to_seq, line: hits beyond the limit, counted
WATCH_SUPPRESSED = "watch_suppressed"
WATCH_SKIPPED = "watch_skipped"  # stream, bytes: so many were gone before they could be searched
WATCH_FAILED = "watch_failed"  # message
INPUT = "waiting_for_input"  # echo
SIGNAL = "signal_sent"  # signal, by, cause, kill_at
RESIZED = "resized"  # cols, rows
MISSING = "output_missing"  # stream, from_byte: another program changed its log from there on
DROPPED = "output_dropped"  # bytes: so many in all did not fit on the disk
# from_seq, to_seq, bytes, lines: so much of the output is gone because of the quota
GAP = "output_gap"
NOTIFIED = "notification_delivered"  # event_type, sink_type, target, watch
NOT_NOTIFIED = "notification_failed"  # the same, and error
DESCENDANTS = "descendants_left"  # count
FAULT = "fault"  # process, error, file: an exception ended a process of ours, or a request to it
APPROVAL_ASKED = "approval_asked"  # rule, reason
APPROVED = "approved"  # by, reason
DENIED = "denied"  # by, reason, state: denied, expired or withdrawn
# Of a job on another host: host, engine, engine_job_id
SUBMITTED = "submitted"
QUEUED = "queued"  # state, reason
STARTED_ON = "started_on"  # node
REQUEUED = "requeued"  # state
PREEMPTED = "preempted"  # state
UNREACHABLE = "unreachable"  # message: why its host cannot be reached
REACHABLE = "reachable"  # again
FINISHED = "finished"  # state, exit_code, signal, reason, duration_ms, usage, message
# file, count: so many events in all were left out because the file was full; to_byte: where the
# file goes on
LEFT_OUT = "events_left_out"

_READ_BYTES = 2 * limits.EVENTS_BYTES  # at most so much of the file is read: its end
LINE_BYTES = 65_536  # no line is longer, and at most so much waits for room on a full disk
# Written first in every line, so that a reader finds its place without parsing everything before it
_N, _SEQ, _TYPE = b'{"n":', b'"seq":', b'"type":"'
_STATES = frozenset({STARTED, ADOPTED, SIGNAL, MISSING, DROPPED, GAP, WATCH_FAILED, DESCENDANTS, FAULT, FINISHED})
_STATES |= {APPROVAL_ASKED, APPROVED, DENIED, SUBMITTED, QUEUED, STARTED_ON, REQUEUED, PREEMPTED}
_DIGITS = 40  # of `n` and `seq` together: both have 63 bits
_STATE_PART = 8  # those that are kept of an older half take at most an eighth of the bound
_NOTE_BYTES = 512  # longer than any `events_left_out` line
_COPY = ".events.new"  # always the same name: the next copy replaces one whose writer was killed


class History:
    """Appends events. An event that does not fit on a full disk is held, and written together with
    a later one."""

    def __init__(self, job: JobDir) -> None:
        self._job = job
        self._fd = -1
        self._count = 0  # the `n` of the last event
        self._held = b""
        self._full_at = 0
        self._open()

    def _open(self) -> bool:
        if self._fd >= 0:
            return True
        try:
            self._fd = self._job.open_file(EVENTS, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            self._bound(os.fstat(self._fd).st_size)
        except OSError:  # full or removed: a job must not fail for want of a history
            return False
        size = os.fstat(self._fd).st_size
        first = max(0, size - 2 * LINE_BYTES)
        data = os.pread(self._fd, size - first, first)
        self._count += _last_n(data)
        if data and not data.endswith(b"\n"):  # its writer was killed in the middle of the line
            self._held = b"\n" + self._held
            self._count += 1
        return True

    def add(self, kind: str, seq: int, /, **content: Any) -> None:
        """Append an event of type `kind`. `seq`: its position in the output. Never fails."""
        ready = self._open()
        self._count += 1
        event = {"n": self._count, "seq": seq, "at": timestamp(), "type": kind, **content}
        self._held = (self._held + json.dumps(event, separators=(",", ":")).encode() + b"\n")[-LINE_BYTES:]
        if not ready:
            return
        try:
            size = os.fstat(self._fd).st_size
            written = os.write(self._fd, self._held)
            if written < len(self._held):
                os.ftruncate(self._fd, size)
                return
        except OSError:
            return
        self._held = b""
        if size + written >= self._full_at:
            self._bound(size + written)

    def _bound(self, size: int) -> None:
        """Leave out the older half of a file of `size` bytes if it takes more than its bound."""
        try:
            note = _note(self._fd) if size > limits.EVENTS_BYTES else None
            gone = note["to_byte"] if note else 0
            if size - gone > limits.EVENTS_BYTES:
                copy, gone = _leave_out(self._job, self._fd, size, gone)
                os.close(self._fd)
                self._fd = copy
            self._full_at = gone + limits.EVENTS_BYTES
        except OSError:  # a full disk: there may be room for a copy later
            self._full_at = size + limits.EVENTS_BYTES // _STATE_PART

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def record(job: JobDir, kind: str, **content: Any) -> None:
    """Add one event to the history of a job that has no supervisor. Call it with the job's locks
    held."""
    log = History(job)
    log.add(kind, 0, **content)
    log.close()


def _last_n(data: bytes) -> int:
    """Return the `n` of the last whole line of `data`. A line that cannot be read counts as one
    event."""
    lines = data.split(b"\n")[:-1]
    for behind, line in enumerate(reversed(lines)):
        place = _place(line)
        if place is not None:
            return place[0] + behind
    return len(lines)


# --- the bound ------------------------------------------------------------------------------------


def _leave_out(job: JobDir, fd: int, size: int, gone: int) -> tuple[int, int]:
    """Replace the file behind `fd` by a copy without the older half of what follows byte `gone`,
    which earlier copies left out. Return the open copy and where its newer half begins. Errors:
    OSError; then the file is as it was."""
    at = max(gone, size - limits.EVENTS_BYTES // 2)
    newer = os.pread(fd, size - at, at)
    cut = newer.find(b"\n") + 1 or len(newer)
    at, newer = at + cut, newer[cut:]
    # The job itself may have written more than the bound: read no more of it than that
    older = os.pread(fd, min(at - gone, limits.EVENTS_BYTES), gone)
    kept, last = _states_of([*_lines_before_hole(fd, gone)[1:], *older.splitlines()])
    first = _place(newer[: newer.find(b"\n") + 1]) or (last[0] + 1, last[1])
    if gone + len(older) < at:
        last = first[0] - 1, first[1]
    note = {"n": last[0], "seq": last[1], "at": timestamp(), "type": LEFT_OUT, "file": EVENTS}
    note |= {"count": first[0] - 1 - len(kept), "to_byte": at}
    head = b"".join(line + b"\n" for line in (json.dumps(note, separators=(",", ":")).encode(), *kept))
    copy = job.open_file(_COPY, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    try:
        fds.write_all(copy, head)
        os.lseek(copy, at - 1, os.SEEK_SET)
        fds.write_all(copy, b"\n" + newer)
        os.fdatasync(copy)  # before it replaces what was synced, as in atomic_file.write_atomic
        fcntl.fcntl(copy, fcntl.F_SETFL, os.O_APPEND)
        os.rename(_COPY, EVENTS, src_dir_fd=job.fd, dst_dir_fd=job.fd)
    except OSError:
        os.close(copy)
        os.unlink(_COPY, dir_fd=job.fd)
        raise
    return copy, at


def _states_of(lines: list[bytes]) -> tuple[list[bytes], tuple[int, int]]:
    """Return the lines of an older half that are kept, and `n` and `seq` of the last line that
    is not.

    Events that say what became of the job are kept, and the first hit of each watch: after a
    takeover, a watch that reports only its first hit must not report another one.
    """
    kept, last, room, hits = [], (0, 0), limits.EVENTS_BYTES // _STATE_PART, set()
    for line in lines:
        place = _place(line)
        if place is None:
            continue
        kind = _kind(line)
        first = False
        if kind == WATCH_HIT:
            # The hit's watch and pattern
            watch = line[line.find(_TYPE) :].partition(b',"match_type":')[0]
            first = watch not in hits
            hits.add(watch)
        if (kind in _STATES or first) and len(line) < room:
            room -= len(line) + 1
            kept.append(line)
        else:
            last = place
    return kept, last


def _kind(line: bytes) -> str:
    return line.partition(_TYPE)[2].partition(b'"')[0].decode("ascii", "replace")


def _note(fd: int) -> Event | None:
    """Return the first line of the file if it says what was left out."""
    line = os.pread(fd, _NOTE_BYTES, 0).partition(b"\n")[0]
    if _kind(line) != LEFT_OUT or _place(line) is None:
        return None
    try:
        note: Event = parse_json(line)
    except ValueError:
        return None
    behind = note.get("to_byte")
    return note if type(behind) is int and 0 < behind <= os.fstat(fd).st_size else None


def _lines_before_hole(fd: int, gone: int) -> list[bytes]:
    """Return the line about what was left out, and the events that were kept before it."""
    return os.pread(fd, min(gone, limits.EVENTS_BYTES), 0).partition(b"\0")[0].splitlines()


def outcome_of(state: State) -> dict[str, Any]:
    """Return the members of a `finished` event."""
    values = {name: getattr(state, name) for name in ("state", "exit_code", "signal", "reason", "duration_ms")}
    values |= {} if state.usage is None else {"usage": state.usage.to_dict()}
    return values | ({"message": state.message} if state.message else {})


def size(job: JobDir) -> int:
    """Return the length of the history in bytes: two equal answers mean that nothing happened in
    between."""
    return _size(job.fd, EVENTS)


def size_in(store: Store, job_id: str) -> int:
    """Return the length of the history of a job that is not open; 0 if there is none."""
    return _size(store.fd, f"{job_id}/{EVENTS}")


def _size(directory: int, name: str) -> int:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False).st_size
    except (FileNotFoundError, NotADirectoryError):
        return 0


def read(
    job: JobDir, *, after: int = 0, since_seq: int = 0, offset: int = 0, kinds: Container[str] | None = None
) -> tuple[list[Event], int]:
    """Return the events with n > `after` and seq >= `since_seq` in the order of n, and where the
    next one will begin.

    `offset`: skip so many bytes of the file (an end that an earlier call returned). If events
    behind it were left out, an event says how many; those that were kept of them are returned if
    `after` names the last event that the reader has. `kinds`: return only events of these types.
    """
    try:
        fd = job.open_file(EVENTS)
    except FileNotFoundError:
        return [], 0
    with Closing(fd):
        note = _note(fd)
        lines: list[bytes] = []
        if note is not None and offset < note["to_byte"]:
            # Of these a reader that names no event may have read some before they were moved
            lines = _lines_before_hole(fd, note["to_byte"])[: 1 if offset and not after else None]
            offset = note["to_byte"]
        size = os.fstat(fd).st_size
        # More than this was written by the job itself
        offset = max(offset, size - _READ_BYTES)
        data = os.pread(fd, max(0, size - offset), offset)
    whole = data.rfind(b"\n") + 1
    events = []
    for line in [*lines, *data[:whole].splitlines()]:
        place = _place(line)
        if place is None or place[0] <= after or place[1] < since_seq or (kinds and _kind(line) not in kinds):
            continue
        try:
            event: Event = {**parse_json(line), "n": place[0], "seq": place[1]}
        except ValueError:  # cut off by a kill, or nothing of ours
            continue
        if type(event.get("type")) is type(event.get("at")) is str:  # else the job itself wrote it
            events.append(event)
    return sorted(events, key=lambda event: event["n"]) if lines else events, offset + whole


def recorded(job: JobDir, *kinds: str) -> list[Event]:
    """Return the events of these types; none where another program has put no file of ours in the
    place of the history, which costs the job nothing else."""
    try:
        return read(job, kinds=kinds)[0]
    except OSError:
        return []


def _place(line: bytes) -> tuple[int, int] | None:
    """Return `n` and `seq` of a line; None if the line does not begin as ours do."""
    first, _, rest = line.partition(b",")
    second, comma, _ = rest.partition(b",")
    if not (comma and first.startswith(_N) and second.startswith(_SEQ)):
        return None
    n, seq = first[len(_N) :], second[len(_SEQ) :]
    return (int(n), int(seq)) if n.isdigit() and seq.isdigit() and len(n + seq) <= _DIGITS else None
