"""Output that is not UTF-8, and how to read it."""

from __future__ import annotations

from outlive.jobs import read_cursor
from outlive.jobs.context import Context
from outlive.store.job_dir import JobDir


def hint(ctx: Context, job: JobDir) -> str | None:
    """Return the sentence; None if this session was told of this job. A caller without a session is
    told each time."""
    if not read_cursor.tell_once(ctx, job, "encoding"):
        return None
    example = "encoding=latin-1" if ctx.face == "mcp" else "--encoding latin-1"
    return (
        f"Bytes that are not UTF-8 are shown as U+FFFD: pass {example} (or cp1252, gbk, shift_jis) to log, tail or poll to "
        "read them."
    )
