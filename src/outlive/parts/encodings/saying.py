"""What an answer says of output that is not UTF-8."""

from __future__ import annotations

from outlive.jobs.context import Context
from outlive.jobs.told import known_to_session
from outlive.parts.encodings import not_text
from outlive.store.output.merged import Output


def how_to_read(ctx: Context, output: Output) -> str | None:
    """Return how to read what this answer shows as U+FFFD: once for each job and session. A caller without a session is
    told each time. None if it is no text in any encoding."""
    end = min(output.end, not_text.SAMPLE_BYTES)
    if not output.gap.merged.crossed_by(0, end) and not_text.is_no_text(output.read(0, end)):
        return None
    if not known_to_session.tell_once(ctx, output.job, "encoding"):
        return None
    example = "encoding=latin-1" if ctx.face == "mcp" else "--encoding latin-1"
    return (
        f"Bytes that are not UTF-8 are shown as U+FFFD: pass {example} (or cp1252, gbk, shift_jis) to log, tail or poll to "
        "read them."
    )
