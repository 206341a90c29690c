"""What each session knows of a job: up to where an answer showed its output, and which conditions
`wait` has reported.

A session without a record goes on where the last ended session of its client in its directory was,
of a job that is its own. A lost record only repeats output, so an error in here fails no call.

What a call shows is held in the inbox of its connection, and written when its answer goes out: what a lost answer
showed is shown again.
"""

from __future__ import annotations

import os
from contextlib import closing, suppress

from outlive.errors import OutliveError
from outlive.jobs.context import Context, Principal
from outlive.jobs.told import ownership
from outlive.render.sources import lines_of
from outlive.render.window import text_of
from outlive.store.job_dir import SEEN, JobDir
from outlive.store.output.merged import Output
from outlive.system.fds import Closing, names_in

# The first line of a record is a position. Each further line is a condition, behind where it was reported: the end of
# the line that matched, else the length of the output then. _OWN stands before those that this session was told
_WIDTH = 32
_FIRST_LINE = b"%%-%dd\n" % _WIDTH
_MOST_BYTES = 1 << 18
_OWN = b"--\n"


def _session(caller: Principal) -> str | None:
    """Return the session whose record this call reads and writes; None for a caller that keeps none."""
    return caller.inbox.name if caller.client is not None and caller.inbox is not None else None


def _record(ctx: Context, job: JobDir) -> tuple[bytes, bool]:
    """Return the record of the session, else the newest one of those that it goes on for, and
    whether it is the session's own; an empty one of its own if there is none."""
    session = _session(ctx.caller)
    if session is None or ctx.inbox is None:
        return b"", True
    held = ctx.inbox.records.get(job.job_id)
    if held is not None:
        return held, True
    with suppress(OSError):
        return _content(job, session), True
    with suppress(OSError, OutliveError):
        names = [name for name in names_in(job.fd, SEEN) if ownership.follows(ctx, name)]
        newest = max(names, key=lambda name: os.stat(f"{SEEN}/{name}", dir_fd=job.fd).st_mtime_ns, default=None)
        if newest is not None and ownership.is_own(ctx, job.read_meta()):
            return _content(job, newest), False
    return b"", True


def _content(job: JobDir, name: str) -> bytes:
    with open(job.open_file(f"{SEEN}/{name}"), "rb") as file:
        return file.read(_MOST_BYTES)


def _hold(ctx: Context, job: JobDir, line: bytes = b"", *, position: int | None = None) -> None:
    """Hold the record as it is when the answer of this call has been sent: with another position, or one more line."""
    if ctx.inbox is None or _session(ctx.caller) is None:
        return
    record, is_own = _record(ctx, job)
    if not (record and is_own):
        record = (record or _FIRST_LINE % 0) + _OWN
    if position is not None:
        record = _FIRST_LINE % position + record[_WIDTH + 1 :]
    ctx.inbox.records[job.job_id] = record + line
    ctx.shows.add(job.job_id)


def write(job: JobDir, session: str, record: bytes) -> None:
    """Write the record of a job that was held for a session: the answer that it is about has been sent."""
    with suppress(OSError):
        with suppress(FileExistsError):
            os.mkdir(SEEN, 0o700, dir_fd=job.fd)
        with Closing(job.open_file(f"{SEEN}/{session}", os.O_WRONLY | os.O_CREAT)) as fd:
            os.pwrite(fd, record, 0)
            os.ftruncate(fd, len(record))


def seen(ctx: Context, job: JobDir, *, here: bool = False) -> int:
    """Return up to where answers have shown the output to the session, or to the last ended session that it goes on for; `here`: to
    this session. 0 if there was none, or no position is kept."""
    record, is_own = _record(ctx, job)
    return _position(record) if is_own or not here else 0


def _position(record: bytes) -> int:
    first = record[:_WIDTH].strip()
    return int(first) if first.isdigit() else 0


def mark_seen(ctx: Context, job: JobDir, next_seq: int, *, asks: bool = False) -> None:
    """Remember that this answer ends at `next_seq`. A session without a record is at 0. `asks`: the answer tells that the
    job waits for input, which a `wait` for any of several jobs does not tell again."""
    if _session(ctx.caller) is None or not (next_seq or _record(ctx, job)[0]):
        return
    _hold(ctx, job, b"%d input\n" % next_seq if asks else b"", position=next_seq)


def reported(ctx: Context, job: JobDir, *, here: bool = False) -> dict[str, int]:
    """Return which conditions a wait has reported, each with its position: to this session or one that it goes on for;
    `here`: to this session."""
    record, is_own = _record(ctx, job)
    told = record[_WIDTH:]
    if here:
        told = told.rpartition(b"\n" + _OWN)[2] if is_own else b""
    lines = (line.partition(" ") for line in told.decode("utf-8", "replace").splitlines())
    return {condition: int(position) for position, _, condition in lines if position.isdigit()}


def mark_reported(ctx: Context, job: JobDir, condition: str, position: int) -> None:
    _hold(ctx, job, f"{position} {condition}\n".encode("utf-8", "replace"))


def tell_once(ctx: Context, job: JobDir, what: str) -> bool:
    """Return whether this session was not told `what` of the job yet, and remember it. A caller
    without a session is told each time."""
    if _session(ctx.caller) is None:
        return True
    if what in reported(ctx, job, here=True):
        return False
    _, is_own = _record(ctx, job)
    if is_own:  # else a record would hide from poll that it goes on where the earlier session was
        mark_reported(ctx, job, what, 0)
    return True


def beginning(ctx: Context, job: JobDir, since_seq: int | None) -> tuple[int, str | None]:
    """Return where a caller reads from, and a sentence if it cannot know that: its `since_seq` is
    beyond the end of the output, or a session before this one has read what comes before.

    Without `since_seq` this is where the session's last answer ended, or that of the session that it
    goes on for.
    """
    if since_seq is None:
        record, is_own = _record(ctx, job)
        position = _position(record)
        return position, None if is_own or not position else _read_before(job, position)
    if not since_seq:
        return 0, None
    with Output(job) as output:
        end = output.end
    return min(since_seq, end), beyond(since_seq, end)


def _read_before(job: JobDir, position: int) -> str:
    with Output(job) as output, closing(lines_of(job, output, None, text_of(output, None))) as lines:
        line = lines.before(min(position, output.end)) + 1
    return f"Shown from line {line} (seq {position}) on; since_seq=0 shows what an earlier session has read."


def beyond(since_seq: int, end: int) -> str | None:
    """Return a sentence about a position that does not exist yet, else None."""
    if since_seq <= end:
        return None
    return f"since_seq {since_seq} is beyond the end of the output, {end}: reading begins there."
