"""What of the output is shown: bounded, cut on line boundaries, with the exact place of what is not shown."""

from __future__ import annotations

from outlive import limits
from outlive.job import short_id
from outlive.store.lines import Lines
from outlive.store.output import Output
from outlive.view import budget
from outlive.view.decode import MAX_HELD_BYTES, decode, decode_exact, leading_cut
from outlive.view.render import readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.store.jobdir import JobDir

    Pieces = list[tuple[int, bytes]]


class Shown:
    """`text` shows [since_seq, next_seq) but for what `truncated` names (False: nothing is left out)."""

    __slots__ = ("next_seq", "since_seq", "text", "truncated")

    def __init__(self, text: str, since_seq: int, next_seq: int, truncated: Any) -> None:
        self.text = text
        self.since_seq = since_seq
        self.next_seq = next_seq
        self.truncated = truncated

    def to_dict(self) -> dict[str, Any]:
        return {
            "output": self.text,
            "since_seq": self.since_seq,
            "next_seq": self.next_seq,
            "truncated": self.truncated,
        }


def show(
    job: JobDir,
    output: Output,
    since: int,
    stop: int,
    *,
    max_bytes: int,
    raw: bool,
    more: bool,
    only: int | None = None,
) -> Shown:
    """The merged output of [since, stop) under a budget of `max_bytes`, head and tail kept.

    `more`: output can still follow, so a character or an escape sequence that is not complete yet is left to the next
    answer. `only`: one stream's part of it.
    """
    since = min(since, output.end)
    stop = min(max(stop, since), output.end)
    room = max_bytes
    while True:
        shown = _show(job, output, since, stop, room, raw=raw, more=more, only=only)
        smaller = less_room(room, shown.text, max_bytes)
        if smaller is None:
            return shown
        room = smaller


def less_room(room: int, text: str, max_bytes: int) -> int | None:
    """How many raw bytes to try next where the text of `room` of them is over the budget; None: it is not, or it
    cannot be smaller. An invalid byte is shown as three, and the mark of a gap takes some too."""
    size = len(text.encode("utf-8", "replace"))
    if size <= max_bytes or room <= 1:
        return None
    return max(1, min(room * max_bytes // size, room - (size - max_bytes)))


def _show(
    job: JobDir, output: Output, since: int, stop: int, room: int, *, raw: bool, more: bool, only: int | None
) -> Shown:
    """What `room` raw bytes of [since, stop) look like."""
    parts = budget.split_budget(stop - since, room)
    if parts is None:
        text, held = decode(output.pieces(since, stop, only), more=more and stop == output.end)
        if held and stop - held == since and stop < output.end:  # a window smaller than one sequence: show it as it is
            text, held = decode(output.pieces(since, stop, only), more=False)
        return Shown(_rendered(text, raw), since, stop - held, False)
    from_seq = since + budget.cut_head(output.read(since, since + parts[0]))
    tail_start = stop - parts[1]
    to_seq = tail_start + budget.cut_tail(output.read(tail_start, stop))
    head, _ = decode(output.pieces(since, from_seq, only), more=False)
    tail, held = decode(output.pieces(to_seq, stop, only), more=more and stop == output.end)
    gap = {
        "from_seq": from_seq,
        "to_seq": to_seq,
        "bytes": to_seq - from_seq,
        "lines": _lines_between(job, output, from_seq, to_seq),
    }
    note = budget.omitted(from_seq, to_seq, gap["lines"], short_id(job.job_id))
    shown_head, shown_tail = _rendered(head, raw), _rendered(tail, raw)
    separator = "" if shown_head.endswith("\n") or not shown_head else "\n"
    return Shown(f"{shown_head}{separator}{note}\n{shown_tail}", since, stop - held, gap)


def _rendered(text: str, raw: bool) -> str:
    return text if raw else readable(text)


def _lines_between(job: JobDir, output: Output, from_seq: int, to_seq: int) -> int | None:
    """Newlines in the gap; None where nobody has counted them yet and it would take long."""
    lines = Lines(job, output)
    try:
        if to_seq - max(from_seq, lines.known_to()) > limits.COUNTED_GAP_BYTES:
            return None
        if to_seq - from_seq <= limits.COUNTED_GAP_BYTES:
            return output.read(from_seq, to_seq).count(b"\n")
        return lines.before(to_seq) - lines.before(from_seq)
    finally:
        lines.close()


def snippet(output: Output) -> str:
    """The last two KiB, rendered."""
    start = max(0, output.end - limits.SNIPPET_BYTES)
    pieces = output.pieces(start, output.end)
    text, _ = decode(pieces, more=False)
    return readable(text.lstrip("\N{REPLACEMENT CHARACTER}") if start else text)


def last_line(output: Output) -> str | None:
    """The last line with something on it; None if there is none in the last KiB."""
    start = max(0, output.end - 1024 - MAX_HELD_BYTES)
    text, _ = decode(output.pieces(start, output.end), more=False)
    lines = [line for line in readable(text).splitlines() if line.strip()]
    return lines[-1].strip()[: limits.LAST_LINE_CHARS] if lines else None


def tails(output: Output, lines: int, max_bytes: int) -> dict[str, Any]:
    """The last lines of each stream, exact text."""
    texts, included = [], []
    for stream in (0, 1):
        data = _tail_bytes(output, stream, lines, max_bytes)
        if len(data) < output.sizes[stream]:
            data = data[leading_cut(data) :]  # the rest of a character whose beginning was cut off
        texts.append(decode_exact(data))
        included.append(len(data))
    return {
        "stdout_tail": texts[0],
        "stderr_tail": texts[1],
        "truncated": included != output.sizes,
        "encoding": "utf-8",
        "stdout_observed_bytes": output.sizes[0],
        "stderr_observed_bytes": output.sizes[1],
        "stdout_included_bytes": included[0],
        "stderr_included_bytes": included[1],
    }


def _tail_bytes(output: Output, stream: int, lines: int, max_bytes: int) -> bytes:
    size = output.sizes[stream]
    data = output.read_stream(stream, max(0, size - max_bytes), size)
    at = len(data)
    if data.endswith(b"\n"):
        at -= 1
    for _ in range(lines):
        at = data.rfind(b"\n", 0, at)
        if at < 0:
            return data
    return data[at + 1 :] if lines else b""


def show_bytes(job: JobDir, lines: Lines, stream: int, start: int, stop: int, *, max_bytes: int, raw: bool) -> Shown:
    """The same for one stream's own log: positions are those of that log."""
    room = max_bytes
    while True:
        shown = _show_bytes(job, lines, stream, start, stop, room, raw=raw)
        smaller = less_room(room, shown.text, max_bytes)
        if smaller is None:
            return shown
        room = smaller


def _show_bytes(job: JobDir, lines: Lines, stream: int, start: int, stop: int, room: int, *, raw: bool) -> Shown:
    parts = budget.split_budget(stop - start, room)
    if parts is None:
        text = decode_exact(lines.read(start, stop), cut_start=start > 0)
        return Shown(_rendered(text, raw), start, stop, False)
    from_seq = start + budget.cut_head(lines.read(start, start + parts[0]))
    tail_start = stop - parts[1]
    to_seq = tail_start + budget.cut_tail(lines.read(tail_start, stop))
    gap = {"from_seq": from_seq, "to_seq": to_seq, "bytes": to_seq - from_seq}
    gap["lines"] = lines.before(to_seq) - lines.before(from_seq)
    name = f"{short_id(job.job_id)} stream={('stdout', 'stderr')[stream]}"
    note = budget.omitted(from_seq, to_seq, gap["lines"], name)
    head = _rendered(decode_exact(lines.read(start, from_seq)), raw)
    tail = _rendered(decode_exact(lines.read(to_seq, stop)), raw)
    separator = "" if head.endswith("\n") or not head else "\n"
    return Shown(f"{head}{separator}{note}\n{tail}", start, stop, gap)
