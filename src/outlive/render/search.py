"""Search output for a pattern (store/output/patterns.py) and show the lines in grep's layout."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator

from outlive.answers.output import Excerpt
from outlive.answers.reading import LogLines
from outlive.render import head_and_tail
from outlive.render.decode import hides_bytes
from outlive.render.plain_text import readable
from outlive.render.sources import gaps_in
from outlive.store.output.line_index import Lines
from outlive.store.output.patterns import Pattern
from outlive.system.waiting import checkpoint

_CHUNK = 1 << 18
_BLOCK_BYTES = 65_536  # of lines that are searched in one go; the rest of a longer line is one of its own


def search(
    lines: Lines,
    wanted: Pattern,
    start: int,
    matched: Matched,
    most_s: float | None = None,
    text: Callable[[int, int], str] | None = None,
) -> LogLines:
    """Return the answer of `log` with `search`: `12:match`, `13-context`, `--` between groups. The
    search stops when `matched` has no room for more, or after `most_s` seconds. `text` of [start, stop)
    is what is searched, None: the bytes as UTF-8. Errors: Cancelled."""
    until = None if most_s is None else time.monotonic() + most_s
    number = lines.before(start)
    at = start
    late = False
    for begin, block in _blocks(lines, start):
        if begin != at:  # the lines between are gone
            number = lines.before(begin)
            matched.pass_over(head_and_tail.gone(lines.hole.stop - lines.hole.start, lines.hole.lines))
        if text is None:
            at = begin + matched.take(number, block, wanted)
        else:
            encoded = _as_utf_8(begin, block, text)
            at = begin + _place(block, encoded, matched.take(number, encoded, wanted))
        if at < begin + len(block):
            break
        number += block.count(b"\n")
        lines.searched_to = at
        checkpoint()
        late = until is not None and time.monotonic() >= until and at < lines.end
        if late:
            break
    return _answer(lines, wanted.text, matched, start, at, most_s if late else None)


def _as_utf_8(begin: int, block: bytes, text: Callable[[int, int], str]) -> bytes:
    """Return the text of a block in as many lines as the block has."""
    shown = text(begin, begin + len(block))
    if shown.count("\n") != block.count(b"\n"):  # an encoding in which a newline may be no line's end
        at, parts = 0, []
        while at < len(block):
            end = block.find(b"\n", at) + 1 or len(block)
            parts.append(text(begin + at, begin + end).replace("\n", ""))
            at = end
        shown = "\n".join(parts) + "\n" * block.endswith(b"\n")
    return shown.encode("utf-8", "replace")


def _place(block: bytes, shown: bytes, taken: int) -> int:
    """Return where in a block the line begins that begins at `taken` of its text."""
    if taken == len(shown):
        return len(block)
    at = 0
    for _ in range(shown.count(b"\n", 0, taken)):
        at = block.index(b"\n", at) + 1
    return at


def _answer(
    lines: Lines, pattern: str, matched: Matched, start: int, at: int, stopped_after_s: float | None
) -> LogLines:
    """Return what matched in [start, at). `stopped_after_s`: the time, if that ended the search."""
    gaps = gaps_in(lines.hole, start, at)
    hints = []
    if at < lines.end:
        why = "" if stopped_after_s is None else f" after {stopped_after_s:g} s"
        hints = [f"The search stopped{why} at line {lines.before(at)}: since_seq={at} goes on."]
    hints = hints or ([] if matched.matches else [f"No line matches {pattern!r}."])
    hints += [f"{gap.bytes:,} bytes ({gap.lines:,} lines) are gone and were not searched." for gap in gaps]
    output = "\n".join(matched.rows) + ("\n" if matched.rows else "")
    return LogLines(
        shown=Excerpt(output=output, since_seq=start, next_seq=at, truncated=False, gaps=gaps or None),
        first_line=matched.first,
        last_line=matched.last,
        total_lines=lines.total(),
        matches=matched.matches,
        hint=" ".join(hints) or None,
    )


class Matched:
    """The rows of an answer while they are collected: at most `limit` matches, each with `context` lines around it, and
    `max_bytes` of text."""

    def __init__(self, *, limit: int | None, context: int, max_bytes: int, raw: bool) -> None:
        self._left = max_bytes
        self._limit = limit
        self._context = context
        self._raw = raw
        self._before: deque[tuple[int, bytes]] = deque(maxlen=context)
        self._after = 0
        self._passed: str | None = None
        self.not_utf_8 = False  # whether a line is none
        self.rows: list[str] = []
        self.numbers: list[int | None] = []  # of these, from 0; None: a line of ours
        self.matches = 0
        self.first: int | None = None
        self.last: int | None = None

    def pass_over(self, mark: str) -> None:
        """Show `mark` before the next match: lines before and behind it are no neighbours."""
        self._before.clear()
        self._after = 0
        self._passed = mark

    def take(self, number: int, block: bytes, wanted: Pattern) -> int:
        """Take whole lines, the first of them line `number`. Return how many bytes were taken: all,
        unless there is no room for a line that has to be shown."""
        at = 0
        for start, end in _matching(block, wanted):
            taken = self._pass(number, block, at, start)
            if taken < start:
                return taken
            number += block.count(b"\n", at, start)
            full = self._limit is not None and self.matches >= self._limit
            if full or not self._show(number, block[start:end], hit=True):
                return start
            number += 1
            at = end
        return self._pass(number, block, at, len(block))

    def _pass(self, number: int, block: bytes, at: int, stop: int) -> int:
        """Take lines without a match, of which only those beside a match are shown. Return where the
        first line begins for which there is no room, or `stop`."""
        while self._after and at < stop:
            end = block.find(b"\n", at, stop) + 1 or stop
            if not self._show(number, block[at:end], hit=False):
                return at
            number += 1
            at = end
        first = stop
        for _ in range(self._context if at < stop else 0):
            first = max(at, block.rfind(b"\n", at, first - 1) + 1)
        number += block.count(b"\n", at, first)
        kept = block[first:stop].removesuffix(b"\n").split(b"\n") if first < stop else []
        self._before.extend(enumerate(kept, number))
        return stop

    def _show(self, number: int, line: bytes, *, hit: bool) -> bool:
        """Show one more line; return False if there is no room for it."""
        rows = [*self._before, (number, line)] if hit else [(number, line)]
        texts = [self._row(n, text, ":" if hit and n == number else "-") for n, text in rows]
        size = sum(len(text.encode("utf-8", "replace")) + 1 for text in texts)
        if size > self._left and self.rows:
            return False
        between = self._passed if self.rows else None
        if not between and self.last is not None and rows[0][0] > self.last and self._context:
            between = "--"
        if between:
            self.rows.append(between)
            self.numbers.append(None)
        self._passed = None
        self._left -= size
        self.rows += texts
        self.numbers += [n for n, _ in rows]
        self._before.clear()
        self._after = self._context if hit else self._after - 1
        self.matches += hit
        self.first = rows[0][0] + 1 if self.first is None else self.first
        self.last = number + 1
        return True

    def _row(self, number: int, line: bytes, mark: str) -> str:
        text = line.rstrip(b"\n").decode("utf-8", "replace")
        self.not_utf_8 |= hides_bytes(text, [(0, line)], cut_start=True, cut_end=not line.endswith(b"\n"))
        return f"{number + 1}{mark}{text if self._raw else readable(text)}"


def _matching(block: bytes, wanted: Pattern) -> Iterator[tuple[int, int]]:
    """Yield where each line with a match begins and ends. One line may have several: carriage returns divide it."""
    end = 0
    for hit in wanted.hits(block):
        if hit.start >= end:
            start = block.rfind(b"\n", end, hit.start) + 1 or end
            end = block.find(b"\n", hit.end) + 1 or len(block)
            yield start, end


def _blocks(lines: Lines, start: int) -> Iterator[tuple[int, bytes]]:
    """Yield (position, whole lines) from `start` on. Lines longer than _BLOCK_BYTES come in pieces,
    each by itself. A gap ends a line."""
    at, rest = start, b""
    while True:
        begin, chunk = lines.take(at + len(rest), _CHUNK)
        if rest and (not chunk or begin != at + len(rest)):
            yield at, rest
            rest = b""
        if not chunk:
            return
        at, data, used = begin - len(rest), rest + chunk, 0
        while used < len(data):
            newline = data.rfind(b"\n", used, used + _BLOCK_BYTES)
            end = newline + 1 if newline >= 0 else used + _BLOCK_BYTES
            if end > len(data):
                break
            yield at + used, data[used:end]
            used = end
        at, rest = at + used, data[used:]
