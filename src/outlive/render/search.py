"""Search output for a pattern (store/output/patterns.py) and show the lines in grep's layout."""

from __future__ import annotations

from collections import deque

from outlive.render import truncate
from outlive.render.decode import decode_exact
from outlive.render.plain_text import readable
from outlive.render.window import gaps_in
from outlive.store.output.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from outlive.store.output.line_index import Lines

_CHUNK = 1 << 20
_LINE_BYTES = 65_536  # of one line; the rest of a longer one is searched as a line of its own


def search(
    lines: Lines, pattern: str, start: int, limit: int | None, context: int, max_bytes: int, *, raw: bool
) -> dict[str, Any]:
    """Return the answer of `log` with `search`: `12:match`, `13-context`, `--` between groups. The
    search stops at `limit` matches, or when `max_bytes` of text are used up."""
    wanted = Pattern(pattern, field="search")
    found = _Found(max_bytes, context, raw)
    number = lines.before(start)
    at = start
    for begin, line in _split(lines, start):
        if begin != at:  # the lines between are gone
            number = lines.before(begin)
            found.pass_over(truncate.gone(lines.hole.stop - lines.hole.start, lines.hole.lines))
        at = begin
        hit = any(True for _ in wanted.hits(line))
        if (hit and limit is not None and found.matches >= limit) or not found.take(number, line, hit):
            break
        at += len(line)
        number += line.endswith(b"\n")
    gaps = gaps_in(lines.hole, start, at)
    hints = [f"The search stopped at line {number}: pass since_seq={at} to go on."] if at < lines.end else []
    hints = hints or ([] if found.matches else [f"No line matches {pattern!r}."])
    hints += [f"{gap['bytes']:,} bytes ({gap['lines']:,} lines) are gone and were not searched." for gap in gaps]
    return {
        "output": "\n".join(found.rows) + ("\n" if found.rows else ""),
        "since_seq": start,
        "next_seq": at,
        "truncated": False,
        "first_line": found.first,
        "last_line": found.last,
        "total_lines": lines.total(),
        "matches": found.matches,
        "hint": " ".join(hints) or None,
        **({"gaps": gaps} if gaps else {}),
    }


class _Found:
    """The rows of an answer while they are collected."""

    def __init__(self, max_bytes: int, context: int, raw: bool) -> None:
        self._left = max_bytes
        self._context = context
        self._raw = raw
        self._before: deque[tuple[int, bytes]] = deque(maxlen=context)
        self._after = 0
        self._passed: str | None = None
        self.rows: list[str] = []
        self.matches = 0
        self.first: int | None = None
        self.last: int | None = None

    def pass_over(self, mark: str) -> None:
        """Show `mark` before the next match: lines before and behind it are no neighbours."""
        self._before.clear()
        self._after = 0
        self._passed = mark

    def take(self, number: int, line: bytes, hit: bool) -> bool:
        """Take one more line. Return False if it has to be shown and there is no room for it."""
        if not hit and not self._after:
            self._before.append((number, line))
            return True
        rows = [*self._before, (number, line)] if hit else [(number, line)]
        texts = [self._row(n, text, ":" if hit and n == number else "-") for n, text in rows]
        size = sum(len(text.encode("utf-8", "replace")) + 1 for text in texts)
        if size > self._left and self.rows:
            return False
        if self.rows and self._passed:
            self.rows.append(self._passed)
        elif self.last is not None and rows[0][0] > self.last and self._context:
            self.rows.append("--")
        self._passed = None
        self._left -= size
        self.rows += texts
        self._before.clear()
        self._after = self._context if hit else self._after - 1
        self.matches += hit
        self.first = rows[0][0] + 1 if self.first is None else self.first
        self.last = number + 1
        return True

    def _row(self, number: int, line: bytes, mark: str) -> str:
        text = decode_exact(line.rstrip(b"\n"))
        return f"{number + 1}{mark}{text if self._raw else readable(text)}"


def _split(lines: Lines, start: int) -> Iterator[tuple[int, bytes]]:
    """Yield (position, line) from `start` on. Lines keep their newlines; longer ones than 64 KiB
    come in pieces. A gap ends a line."""
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
            newline = data.find(b"\n", used, used + _LINE_BYTES)
            end = newline + 1 if newline >= 0 else used + _LINE_BYTES
            if end > len(data):
                break
            yield at + used, data[used:end]
            used = end
        at, rest = at + used, data[used:]
