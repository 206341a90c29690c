"""Patterns from callers, matched against lines of output: as they were printed, and as they look
without escape sequences.

Regular expressions are RE2's (https://github.com/google/re2/wiki/Syntax). They take time linear in
the text, so no pattern that a model thinks up can hang a supervisor. A line is what stands between
two newlines or carriage returns: so lines are the same on a terminal, which ends them with both,
and each state of a progress line is a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from outlive import limits
from outlive.core.records import CONTAINS, REGEX
from outlive.errors import invalid


def re2() -> Any:
    """Return the module of regular expressions that take linear time, loaded at its first use. Errors: ImportError."""
    import re2  # late: 4 ms and a megabyte

    return re2


def line_options() -> Any:
    """Return options for a pattern that is matched line by line."""
    chosen = re2().Options()
    chosen.log_errors = False
    chosen.never_nl = True  # [^x] and \s stay inside their line
    return chosen


_MULTI_LINE = "(?m)"
# Escape sequences and control characters, but never a newline or a carriage return: all that is left can be seen
_UNSEEN = rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P_^X][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"


class Hit:
    """One line that matches. `start` and `end` (without its newline) are offsets in the text that
    was searched."""

    __slots__ = ("_seen", "end", "start")

    def __init__(self, start: int, end: int, seen: tuple[bytes, int, int, tuple[int, int]]) -> None:
        self.start = start
        self.end = end
        # (text, start and end of the line in it, (start, end) of the match). Cut out late: most
        # hits of a flood are never shown
        self._seen = seen

    @property
    def line(self) -> str:
        """The line without escape sequences, cut to what is around the match."""
        text, start, end, (low, _) = self._seen
        room = limits.HIT_LINE_BYTES
        first = max(start, min(low - room // 4, end - room))
        return _text(text[first : min(end, first + room)])

    def reaches_end_of(self, text: bytes) -> bool:
        """Return whether the match touches the end of the text that was searched, so that more text
        could change it."""
        seen, _, _, (_, high) = self._seen
        return self.end >= len(text) and high >= len(seen)

    @property
    def match(self) -> str:
        text, _, _, (low, high) = self._seen
        return _text(text[low : min(high, low + limits.HIT_MATCH_BYTES)])


class Pattern:
    """A compiled pattern. Errors: invalid_argument (`field`) if it is empty, too long or no RE2
    pattern."""

    def __init__(self, pattern: str, match_type: str = REGEX, field: str = "pattern") -> None:
        self.text = pattern
        self.match_type = match_type
        if match_type == CONTAINS:
            check_length(pattern, field)
            self._needle = pattern.encode("utf-8", "surrogateescape")
        else:
            self._regex = compiled(pattern, field)

    def hits(self, text: bytes) -> Iterator[Hit]:
        """Yield the matching lines of `text` in order, each once."""
        # The length is the same, so offsets stay what they are
        lines = text.replace(b"\r", b"\n") if b"\r" in text else text
        for hit in self._seen(lines) if b"\x1b" in text else self._plain(lines):
            # Between \r and \n is no line
            if hit.end > hit.start or text[hit.start - 1 : hit.start] != b"\r":
                yield hit

    def _plain(self, text: bytes) -> Iterator[Hit]:
        for start, end, span in self._lines(text):
            yield Hit(start, end, (text, start, end, span))

    def _lines(self, text: bytes) -> Iterator[tuple[int, int, tuple[int, int]]]:
        """Yield (start, end, (from, to) of the match) of each line that matches."""
        at = 0
        if self.match_type != CONTAINS:
            text = valid(text)
        while at <= len(text):
            span = self._find(text, at)
            if span is None:
                return
            start = text.rfind(b"\n", 0, span[0]) + 1
            end = text.find(b"\n", span[1])
            end = len(text) if end < 0 else end
            # `$` also matches behind the last newline, where there is no line yet
            if start < len(text):
                yield start, end, span
            at = end + 1

    def _find(self, text: bytes, at: int) -> tuple[int, int] | None:
        if self.match_type == CONTAINS:
            start = text.find(self._needle, at)
            return None if start < 0 else (start, start + len(self._needle))
        match = self._regex.search(text, at)
        return (match.start(), match.end()) if match else None

    def _seen(self, text: bytes) -> Iterator[Hit]:
        """Yield the matching lines of a text with escape sequences: a line matches with them or
        without them."""
        starts = [0]
        for line in text.split(b"\n"):
            starts.append(starts[-1] + len(line) + 1)
        clean = seen(text)
        hits: dict[int, Hit] = {}
        number = at = 0
        for start, end, span in self._lines(clean):
            number += clean.count(b"\n", at, start)
            at = start
            hits[number] = Hit(starts[number], starts[number + 1] - 1, (clean, start, end, span))
        number = at = 0
        for start, end, span in self._lines(text):
            number += text.count(b"\n", at, start)
            at = start
            hits.setdefault(number, Hit(start, end, (text, start, end, span)))
        for number in sorted(hits):
            yield hits[number]


def seen(data: bytes) -> bytes:
    """Return `data` without escape sequences and control characters other than newline, carriage
    return and tab."""
    return re.sub(_UNSEEN, b"", data)


def check_length(pattern: str, field: str) -> None:
    """Raise invalid_argument if the pattern is empty, too long, or holds a newline."""
    if not pattern:
        raise invalid(field, "the pattern is empty: every line would match")
    if len(pattern) > limits.MAX_PATTERN_CHARS:
        raise invalid(field, f"the pattern is longer than {limits.MAX_PATTERN_CHARS} characters")
    if "\n" in pattern:
        raise invalid(field, "the pattern holds a newline, and lines have none", hint="Give several patterns.")


def compiled(pattern: str, field: str) -> Any:
    """Return an RE2 pattern over bytes. Errors: invalid_argument."""
    check_length(pattern, field)
    try:
        return re2().compile((_MULTI_LINE + _of_a_line(pattern)).encode("utf-8", "surrogateescape"), line_options())
    except re2().error as error:
        text = error.args[0] if error.args else error
        text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        raise invalid(
            field,
            f"not an RE2 pattern: {text.replace(_MULTI_LINE, '', 1)}",
            hint="RE2 has no look-around and no back-references.",
        ) from error


def valid(data: bytes) -> bytes:
    """Return `data` with a question mark for each byte that is no UTF-8: to RE2 such a byte is no
    character, and `.` does not match it."""
    return data if data.isascii() else data.decode("utf-8", "surrogateescape").encode("utf-8", "replace")


def _of_a_line(pattern: str) -> str:
    """Return the pattern with ^ and $ for \\A and \\z: a pattern is matched against a line, not
    against the piece of output in which it was searched."""
    return re.sub(r"(?<!\\)((?:\\\\)*)\\([Az])", lambda match: match[1] + {"A": "^", "z": "$"}[match[2]], pattern)


def _text(data: bytes) -> str:
    return seen(data).decode("utf-8", "replace").strip("\N{REPLACEMENT CHARACTER}\r\n")
