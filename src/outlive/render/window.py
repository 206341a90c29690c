"""The part of a job's output that an answer shows: bounded, cut between lines, with the exact place
of what is left out."""

from __future__ import annotations

from outlive import limits
from outlive.core.ids import short_id
from outlive.render import truncate
from outlive.render.decode import MAX_HELD_BYTES, decode, decode_exact, leading_cut
from outlive.render.plain_text import readable
from outlive.store.output.line_index import Lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.store.job_dir import JobDir
    from outlive.store.output.gap import Hole
    from outlive.store.output.merged import Output

_COUNTED_GAP_BYTES = 4 * 1024**2  # lines of a larger gap are not counted for a poll


class Shown:
    """`text` shows [since_seq, next_seq), except for the span that `truncated` names (False: none)
    and except for `gaps`, of which nothing is left.

    With `cursor` it ends with the screen that a program fills, instead of what draws it
    (jobs/interaction/screen.py); with `alternate` that is the alternate screen."""

    __slots__ = ("alternate", "cursor", "gaps", "next_seq", "since_seq", "text", "truncated")

    def __init__(self, text: str, since_seq: int, next_seq: int, truncated: Any, gaps: list[dict[str, Any]]) -> None:
        self.text = text
        self.since_seq = since_seq
        self.next_seq = next_seq
        self.truncated = truncated
        self.gaps = gaps
        self.cursor: dict[str, Any] | None = None
        self.alternate = False

    def to_dict(self) -> dict[str, Any]:
        return {
            "output": self.text,
            "since_seq": self.since_seq,
            "next_seq": self.next_seq,
            "truncated": self.truncated,
            **({"gaps": self.gaps} if self.gaps else {}),
            **({"alternate_screen": True} if self.alternate else {}),
            **({"cursor": self.cursor} if self.cursor else {}),
        }


def gaps_in(hole: Hole, start: int, stop: int) -> list[dict[str, Any]]:
    """Return the gap as answers tell it, if any of it lies in [start, stop): always the whole
    gap."""
    if not hole.crossed_by(start, stop):
        return []
    span = {"from_seq": hole.start, "to_seq": hole.stop}
    return [{**span, "bytes": hole.stop - hole.start, "lines": hole.lines}]


class _Merged:
    """The merged output as a source of what is shown."""

    def __init__(self, job: JobDir, output: Output, *, raw: bool, more: bool) -> None:
        self.output = output
        self.name = short_id(job.job_id)
        self.raw = raw
        self._job = job
        self._more = more

    @property
    def hole(self) -> Hole:
        return self.output.gap.merged

    @property
    def end(self) -> int:
        return self.output.end

    def read(self, start: int, stop: int) -> bytes:
        return self.output.read(start, stop)

    def text(self, start: int, stop: int) -> tuple[str, int]:
        """Return the text of [start, stop), and how many bytes at its end are held back until more
        output comes. No gap may lie in between."""
        whole, held = decode(self.output.pieces(start, stop), more=self._more and stop == self.end)
        return whole if self.raw else readable(whole), held

    def lines_between(self, start: int, stop: int) -> int | None:
        """Return how many newlines are still there; None if the index does not have them and
        counting would take long."""
        lines = Lines(self._job, self.output)
        try:
            if self.hole.kept(max(start, lines.known_to()), stop) > _COUNTED_GAP_BYTES:
                return None
            if self.hole.kept(start, stop) <= _COUNTED_GAP_BYTES:
                return self.read(start, stop).count(b"\n")
            return lines_kept(lines, start, stop)
        finally:
            lines.close()


class _Log:
    """The log of one stream as a source of what is shown. Positions are offsets in that log."""

    def __init__(self, job: JobDir, output: Output, lines: Lines, stream: int, *, raw: bool) -> None:
        self.output = output
        self.name = f"{short_id(job.job_id)} stream={('stdout', 'stderr')[stream]}"
        self._stream = stream
        self.raw = raw
        self._lines = lines

    @property
    def hole(self) -> Hole:
        return self._lines.hole

    @property
    def end(self) -> int:
        return self._lines.end

    def read(self, start: int, stop: int) -> bytes:
        return self._lines.read(start, stop)

    def text(self, start: int, stop: int) -> tuple[str, int]:
        whole = decode_exact(self.output.shown_stream(self._stream, start, stop), cut_start=start > 0)
        return whole if self.raw else readable(whole), 0

    def lines_between(self, start: int, stop: int) -> int:
        return lines_kept(self._lines, start, stop)


def lines_kept(lines: Lines, start: int, stop: int) -> int:
    """Return how many newlines of [start, stop) are still there."""
    hole = lines.hole
    gone = hole.lines if hole.crossed_by(start, stop) and start <= hole.start else 0
    return lines.before(stop) - lines.before(start) - gone


def show(job: JobDir, output: Output, since: int, stop: int, *, max_bytes: int, raw: bool, more: bool) -> Shown:
    """Return the merged output of [since, stop), shortened to its head and tail if it is longer
    than `max_bytes`.

    `more`: output can still follow, so an incomplete character or escape sequence at the end is
    left to the next answer.
    """
    return _shown(_Merged(job, output, raw=raw, more=more), since, stop, max_bytes)


def show_bytes(
    job: JobDir, output: Output, lines: Lines, stream: int, start: int, stop: int, *, max_bytes: int, raw: bool
) -> Shown:
    """Return bytes [start, stop) of one stream's own log, shortened like `show`. Positions are
    offsets in that log."""
    return _shown(_Log(job, output, lines, stream, raw=raw), start, stop, max_bytes)


def _shown(source: _Merged | _Log, since: int, stop: int, max_bytes: int) -> Shown:
    room = max_bytes
    while True:
        shown = source.output.steady(_fitted, source, since, stop, room)
        smaller = less_room(room, shown.text, max_bytes)
        if smaller is None:
            return shown
        room = smaller


def less_room(room: int, text: str, max_bytes: int) -> int | None:
    """Return how many raw bytes to try next if the text of `room` raw bytes exceeds `max_bytes`;
    None if it fits, or cannot get smaller. Text may be longer than its raw bytes: an invalid byte
    is shown as three, and a gap as a line."""
    size = len(text.encode("utf-8", "replace"))
    if size <= max_bytes or room <= 1:
        return None
    return max(1, min(room * max_bytes // size, room - (size - max_bytes)))


def _fitted(source: _Merged | _Log, since: int, stop: int, room: int) -> Shown:
    """Return [since, stop) shortened to `room` raw bytes."""
    hole = source.hole
    since = min(since, source.end)
    stop = min(max(stop, since), source.end)
    if since < stop and hole.start < stop < hole.stop:
        stop = hole.stop
    gaps = gaps_in(hole, since, stop)
    parts = truncate.split_budget(hole.kept(since, stop), room)
    if parts is None:
        text, held = _text(source, since, stop)
        return Shown(text, since, stop - held, False, gaps)
    from_seq = hole.plus(since, truncate.cut_head(source.read(since, hole.plus(since, parts[0]))))
    tail_start = hole.minus(stop, parts[1])
    to_seq = hole.plus(tail_start, truncate.cut_tail(source.read(tail_start, stop)))
    count, lines = hole.kept(from_seq, to_seq), source.lines_between(from_seq, to_seq)
    gap = {"from_seq": from_seq, "to_seq": to_seq, "bytes": count, "lines": lines}
    marks = [truncate.omitted(from_seq, count, lines, source.name)]
    if hole.crossed_by(from_seq, to_seq):
        marks.append(truncate.gone(hole.stop - hole.start, hole.lines))
    head, _ = _text(source, since, from_seq)
    tail, held = _text(source, to_seq, stop)
    return Shown(_joined(head, *(f"{mark}\n" for mark in marks), tail), since, stop - held, gap, gaps)


def _text(source: _Merged | _Log, start: int, stop: int) -> tuple[str, int]:
    """Return the text of [start, stop) with a line in the place of a gap, and how many bytes at its
    end are held back."""
    hole = source.hole
    if not hole.crossed_by(start, stop):
        return source.text(start, stop)
    before, _ = source.text(start, hole.start) if start < hole.start else ("", 0)
    behind, held = source.text(hole.stop, stop) if stop > hole.stop else ("", 0)
    return _joined(before, f"{truncate.gone(hole.stop - hole.start, hole.lines)}\n", behind), held


def _joined(*texts: str) -> str:
    """Return the texts one below the other."""
    found = ""
    for text in texts:
        separator = "\n" if found and text and not found.endswith("\n") else ""
        found += separator + text
    return found


def snippet(output: Output, since: int = 0) -> str:
    """Return the last two KiB of the output from `since` on as readable text."""
    start = max(since, output.end - limits.SNIPPET_BYTES)
    pieces = output.pieces(start, output.end)
    text, _ = decode(pieces, more=False)
    return readable(text.lstrip("\N{REPLACEMENT CHARACTER}") if start else text)


def last_line(output: Output) -> str | None:
    """Return the last line that is not blank; None if there is none in the last KiB."""
    start = max(0, output.end - 1024 - MAX_HELD_BYTES)
    text, _ = decode(output.pieces(start, output.end), more=False)
    lines = [line for line in readable(text).splitlines() if line.strip()]
    return lines[-1].strip()[: limits.LAST_LINE_CHARS] if lines else None


def last_lines(output: Output, lines: int, max_bytes: int) -> str:
    """Return the last lines that are not blank, as readable text of at most so many bytes."""
    start = max(0, output.end - max_bytes - MAX_HELD_BYTES)
    text, _ = decode(output.pieces(start, output.end), more=False)
    shown = [line.rstrip() for line in readable(text).splitlines() if line.strip()]
    found: list[str] = []
    for line in reversed(shown[-lines:]):
        max_bytes -= len(line.encode()) + 1
        if max_bytes < 0:
            break
        found.insert(0, line)
    return "\n".join(found)


def tails(output: Output, lines: int, max_bytes: int) -> dict[str, Any]:
    """Return the answer of `tail`: the last lines of each stream, as exact text. Lines before a gap
    do not belong to them."""
    texts, included, crossed = [], [], False
    for stream in (0, 1):
        data, cut = output.steady(_tail_bytes, output, stream, lines, max_bytes)
        if len(data) < output.sizes[stream]:
            # Drop the rest of a character whose beginning was cut off
            data = data[leading_cut(data) :]
        texts.append(decode_exact(data))
        included.append(len(data))
        crossed = crossed or cut
    return {
        "stdout_tail": texts[0],
        "stderr_tail": texts[1],
        "truncated": included != output.sizes,
        "encoding": "utf-8",
        "stdout_observed_bytes": output.sizes[0],
        "stderr_observed_bytes": output.sizes[1],
        "stdout_included_bytes": included[0],
        "stderr_included_bytes": included[1],
        **({"gaps": gaps_in(output.gap.merged, 0, output.end)} if crossed else {}),
    }


def _tail_bytes(output: Output, stream: int, lines: int, max_bytes: int) -> tuple[bytes, bool]:
    """Return the bytes, and whether there would be more of them without a gap."""
    size, hole = output.sizes[stream], output.gap.streams[stream]
    # Lines before a span that was cut away do not belong to the tail either
    cut = max((stop for _, stop in output.missing[stream]), default=0)
    start = max(0, size - max_bytes, cut)
    crossed = hole.crossed_by(start, size)
    data = output.read_stream(stream, hole.stop if crossed else start, size)
    at = len(data)
    if data.endswith(b"\n"):
        at -= 1
    for _ in range(lines):
        at = data.rfind(b"\n", 0, at)
        if at < 0:
            return data, crossed
    return (data[at + 1 :] if lines else b""), False
