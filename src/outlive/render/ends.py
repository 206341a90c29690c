"""The end of a job's output as readable text."""

from __future__ import annotations

from outlive import limits
from outlive.render.decode import MAX_HELD_BYTES, decode
from outlive.render.plain_text import without_rest
from outlive.render.redraws import replayed
from outlive.render.window import text_of
from outlive.store.output.merged import Output

# Bytes at the end: a spinner may have erased all of the first
_LOOKED_AT = (1_024, 16_384)


def snippet(output: Output, since: int = 0) -> str:
    """Return the last two KiB of the output from `since` on as readable text."""
    start = max(since, output.end - limits.SNIPPET_BYTES)
    text = _end(output, start)
    return replayed(text.lstrip("\N{REPLACEMENT CHARACTER}") if start else text)


def last_line(output: Output) -> str | None:
    """Return the last line that says something and was not erased; None if there is none in the last 16 KiB."""
    for most in _LOOKED_AT:
        start = max(0, output.end - most - MAX_HELD_BYTES)
        lines = [line for line in replayed(_end(output, start)).splitlines() if line.strip()]
        lines = [line for line in lines if any(map(str.isalnum, line))] or lines  # no rule below a table
        if lines or not start:
            break
    return lines[-1].strip()[: limits.LAST_LINE_CHARS] if lines else None


def last_lines(output: Output, lines: int, max_bytes: int) -> str:
    """Return the last lines that are not blank, as readable text of at most so many bytes."""
    start = max(0, output.end - max_bytes - MAX_HELD_BYTES)
    text = _end(output, start)
    shown = [line.rstrip() for line in replayed(text).splitlines() if line.strip()]
    kept: list[str] = []
    for line in reversed(shown[-lines:]):
        max_bytes -= len(line.encode()) + 1
        if max_bytes < 0:
            break
        kept.insert(0, line)
    return "\n".join(kept)


def _end(output: Output, start: int) -> str:
    text, _ = decode(output.pieces(start, output.end), more=False)
    if "\0" in text or "\N{REPLACEMENT CHARACTER}" in text:
        marked = text_of(output, None)
        text = text if marked is None else marked.of(start, output.end, final=True)
    return without_rest(text, start, output.read)


def last_lines_with(output: Output, line: str | None, count: int, max_bytes: int) -> str:
    """Return `count` lines of at most so many bytes together: this line, unless it is among the last, and the last."""
    last = last_lines(output, count, max_bytes)
    if line is None or line in (one.strip() for one in last.splitlines()):
        return last
    room = max_bytes - len(line.encode()) - 1
    return "\n".join(filter(None, (line, last_lines(output, count - 1, room)))) if room >= 0 else last
