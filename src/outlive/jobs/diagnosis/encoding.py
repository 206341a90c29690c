"""Output that is not UTF-8, and how to read it."""

from __future__ import annotations

from outlive.jobs import read_cursor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.jobs.context import Context
    from outlive.store.job_dir import JobDir


def hint(ctx: Context, job: JobDir) -> str | None:
    """Return the sentence; None if this session was told of this job. A caller without a session is
    told each time."""
    # With its name: what a session that ended was told, the next one of its client does not know
    told = f"encoding {ctx.inbox.name if ctx.inbox is not None else ''}"
    if told in read_cursor.reported(ctx, job):
        return None
    read_cursor.mark_reported(ctx, job, told, 0)
    example = "encoding=latin-1" if ctx.face == "mcp" else "--encoding latin-1"
    return (
        f"Bytes that are not UTF-8 are shown as U+FFFD: pass {example} (or cp1252, gbk, shift_jis) to log, tail or poll to "
        "read them."
    )
