"""What each client knows of a job: where its last answer about the job ended, and which conditions
`wait` has told it of."""

from __future__ import annotations

import os

from outlive.store.job_dir import SEEN, JobDir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context

_TOLD = ".told"  # behind the name of a client's read position
_MOST_TOLD_BYTES = 1 << 18


_WIDTH = 32  # of the position; the key of its connection or session follows


def _seen_name(client: str) -> str:
    from outlive.store.pending_notices import mark_of

    return f"{SEEN}/{mark_of(client)}"


def seen(ctx: Context, job: JobDir) -> int:
    """Return where this client's last answer about the job ended; 0 if there was none, or no
    position is kept."""
    return _seen(ctx, job)[0]


def seen_here(ctx: Context, job: JobDir) -> int:
    """Return where the last answer about the job ended if it went to this connection or session,
    not to another one of this client; else 0."""
    position, key = _seen(ctx, job)
    return position if ctx.inbox is not None and key == ctx.inbox.key else 0


def _seen(ctx: Context, job: JobDir) -> tuple[int, str]:
    if ctx.client is None:
        return 0, ""
    try:
        fd = job.open_file(_seen_name(ctx.client))
    except OSError:
        return 0, ""
    try:
        found = os.read(fd, 64)
        return int(found[:_WIDTH].strip() or b"0"), found[_WIDTH:].strip().decode("ascii", "replace")
    except ValueError:
        return 0, ""
    finally:
        os.close(fd)


def beginning(ctx: Context, job: JobDir, since_seq: int | None) -> tuple[int, str | None]:
    """Return where a caller reads from, and a sentence if it cannot know that: its `since_seq` is
    beyond the end of the output, or another session of the client has read what comes before.

    Without `since_seq` this is where the client's last answer ended.
    """
    if since_seq is None:
        position, key = _seen(ctx, job)
        is_own = not position or ctx.inbox is None or key == ctx.inbox.key
        return position, None if is_own else _read_before(job, position)
    if not since_seq:
        return 0, None
    from outlive.store.output.merged import Output

    with Output(job) as output:
        end = output.end
    return min(since_seq, end), beyond(since_seq, end)


def _read_before(job: JobDir, position: int) -> str:
    """Return the sentence about output that an earlier session has read."""
    from outlive.store.output.line_index import Lines
    from outlive.store.output.merged import Output

    with Output(job) as output:
        lines = Lines(job, output)
        try:
            line = lines.before(min(position, output.end)) + 1
        finally:
            lines.close()
    return f"Shown from line {line} (seq {position}) on; since_seq=0 shows what another session has read."


def beyond(since_seq: int, end: int) -> str | None:
    """Return a sentence about a position that does not exist yet, else None."""
    if since_seq <= end:
        return None
    return f"since_seq {since_seq} is beyond the end of the output, {end}: reading begins there."


def with_hint(told: str | None, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer with this sentence before its hint."""
    return answer if told is None else {**answer, "hint": f"{told} {answer.get('hint', '')}".rstrip()}


def mark_seen(ctx: Context, job: JobDir, next_seq: int) -> None:
    """Remember that this answer ends at `next_seq`.

    A lost position only repeats output, so an error fails no call.
    """
    if ctx.client is None:
        return
    name = _seen_name(ctx.client)
    try:
        try:
            fd = job.open_file(name, os.O_WRONLY | (os.O_CREAT if next_seq else 0))
        except FileNotFoundError:
            if not next_seq:  # a client without a position is at 0
                return
            os.mkdir(SEEN, 0o700, dir_fd=job.fd)
            fd = job.open_file(name, os.O_WRONLY | os.O_CREAT)
        try:
            key = "-" * 16 if ctx.inbox is None else ctx.inbox.key
            # One write of fixed width: old or new, never between
            os.pwrite(fd, b"%-*d%s\n" % (_WIDTH, next_seq, key.encode()), 0)
        finally:
            os.close(fd)
    except OSError:
        return


def told(ctx: Context, job: JobDir) -> dict[str, int]:
    """Return which conditions `wait` has told this client of, each with the length of the output at
    that time."""
    found: dict[str, int] = {}
    if ctx.client is None:
        return found
    try:
        fd = job.open_file(_seen_name(ctx.client) + _TOLD)
    except OSError:
        return found
    with open(fd, encoding="utf-8", errors="replace") as file:
        for line in file.read(_MOST_TOLD_BYTES).splitlines():
            position, _, condition = line.partition(" ")
            if position.isdigit():
                found[condition] = int(position)
    return found


def mark_told(ctx: Context, job: JobDir, condition: str, position: int) -> None:
    """Remember that this client was told of a condition. An error fails no call."""
    if ctx.client is None:
        return
    name, flags = _seen_name(ctx.client) + _TOLD, os.O_WRONLY | os.O_APPEND | os.O_CREAT
    try:
        try:
            fd = job.open_file(name, flags)
        except FileNotFoundError:
            os.mkdir(SEEN, 0o700, dir_fd=job.fd)
            fd = job.open_file(name, flags)
        try:
            os.write(fd, f"{position} {condition}\n".encode("utf-8", "replace"))
        finally:
            os.close(fd)
    except OSError:
        return
