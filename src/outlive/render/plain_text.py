"""The text that a terminal shows in the end, after it has obeyed every control character. For
reading, not for replay."""

from __future__ import annotations

import re
from collections.abc import Callable

# Patterns of terminal control sequences in text (ECMA-48; xterm's ctlseqs), in 7-bit and 8-bit forms.
#
# Every pattern takes linear time: what may follow an introducer never contains another introducer, and quantifiers are
# possessive, so no character is examined more than a few times whatever a job prints. The patterns are strings, compiled
# (and cached by `re`) at their first use: that takes milliseconds, and most output has no escape sequence.

MAX_SEQUENCE_BYTES = 4_096  # a longer unfinished sequence is garbage, not a sequence

CSI = r"(?:\x1b\[|\x9b)"
_STRING = r"(?:\x1b[PX\]^_]|[\x90\x98\x9d-\x9f])"  # DCS SOS OSC PM APC
# A newline ends a string although ECMA-48 allows it in some: one stray introducer must not swallow
# the lines after it.
_BODY = r"[^\x07\n\x18\x1a\x1b\x80-\x9f]"
_STRING_END = r"(?:\x07|\x1b\\|\x9c)"
_MOTION = r"[0-9;]*+[CDGK`a]"

# Moves the cursor within its line or erases there. Groups: parameters, final character.
MOTION = CSI + r"([0-9;]*+)([CDGK`a])"

# Every other sequence. A sequence that was broken off matches too, but of an overlong string only
# its introducer does.
NOISE = "|".join(
    (
        rf"{CSI}(?!{_MOTION})[0-?]*+[ -/]*+[@-~]?",
        rf"{_STRING}(?:{_BODY}*+{_STRING_END}|{_BODY}{{0,{MAX_SEQUENCE_BYTES}}}+(?!{_BODY}))?",
        r"\x1b(?!\[)[ -/]*+[0-~]?",
    )
)

# What a cut leaves of a string: its end at the beginning of a text, or all of that; its beginning at the end of one
_REST_OF_STRING = rf"{_BODY}*+(?:{_STRING_END}|\x1b?\Z)"
_BEGUN_STRING = rf"{_STRING}{_BODY}*+\x1b?\Z"

# A sequence that has begun and has not ended yet.
UNFINISHED = rf"(?:{CSI}[0-?]*+[ -/]*+|{_STRING}{_BODY}*+\x1b?|\x1b[ -/]*+)\Z"

_BLOCK_BYTES = 65_536
_MOST_BYTES = 8 << 20  # in which its beginning is looked for
# What begins a string, in UTF-8, and what ends one or cannot be in one
_BEGINS = rb"\x1b[PX\]^_]|\xc2[\x90\x98\x9d-\x9f]"
_EDGES = _BEGINS + rb"|[\x07\n\x18\x1a\x1b]|\xc2[\x80-\x9f]"


def without_rest(text: str, start: int, read: Callable[[int, int], bytes]) -> str:
    """Return a text without the rest of a string that begins before it. The text begins at `start` of what `read` reads."""
    if not start or read(start - 1, start) == b"\n":
        return text
    rest = re.match(_REST_OF_STRING, text)
    return text[rest.end() :] if rest and _is_within(start, read) else text


def without_begun(text: str) -> str:
    """Return a text that was cut without the string that has begun at its end."""
    begun = re.search(_BEGUN_STRING, text) if "\x1b" in text or not text.isascii() else None
    return text[: begun.start()] if begun else text


def _is_within(start: int, read: Callable[[int, int], bytes]) -> bool:
    at = start
    while at > max(0, start - _MOST_BYTES):
        low = max(0, at - _BLOCK_BYTES)
        edges = re.findall(_EDGES, read(low, at + 1))  # one byte more: an introducer has two
        if edges:
            return re.match(_BEGINS, edges[-1]) is not None
        at = low
    return False


# Controls besides tab and newline; bidirectional overrides and isolates, which make text read other
# than it is; byte order marks; lone surrogates, which no UTF-8 can carry.
_NEVER_SHOWN = r"\ufeff\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_ANY = r"[\x00-\x08\x0b-\x1f\x7f-\x9f" + _NEVER_SHOWN + "]"
_ANY_ASCII = r"[\x00-\x08\x0b-\x1f\x7f]"
REMOVED = NOISE + r"|[\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9a\x9c-\x9f" + _NEVER_SHOWN + "]"
_MOVES = r"[\r\x08\x1b\x9b]"
_TOKEN = r"[^\r\x08\x1b\x9b]++|\r++|\x08++|" + MOTION

# Columns: a jump past the end of the text stops here, as it would at the edge of a terminal
_EDGE = 256
SPARE_BLANKS = 4_096


def readable(text: str) -> str:
    """Return the text as a person would see it in the end: no escape sequences, each line as it was last overwritten.

    Of the control characters only tab and newline remain. A cursor that moves up is not followed (redraws.py does): such
    lines stay one below the other. One character is one column. The result is at most twice as long as `text`, plus 4096
    characters."""
    if text.replace("\n", "").replace("\t", "").isprintable():  # most output is
        return text
    plain = _ANY_ASCII if text.isascii() else _ANY
    if not re.search(plain, text):
        return text
    text = re.sub(REMOVED, "", text.replace("\r\n", "\n"))
    moves = re.compile(_MOVES).search
    if not moves(text):
        return text
    canvas = Line(SPARE_BLANKS + len(text))
    return "\n".join(canvas.replay(line) if moves(line) else line for line in text.split("\n"))


class Line:
    """One line of a terminal.

    `blanks`: how many blanks may still be filled in, over all lines. Without this limit a few bytes could ask for
    millions ("go to column 256, one letter, next line"), and erasing a long line again and again would take quadratic
    time."""

    def __init__(self, blanks: int) -> None:
        self.blanks = blanks
        self.cells: list[str] = []
        self.column = 0

    def replay(self, line: str) -> str:
        self.cells, self.column = [], 0
        self.write(line)
        return self.shown()

    def write(self, line: str) -> None:
        """Obey what moves the cursor within a line, and write the rest over what is there."""
        for token in re.finditer(_TOKEN, line):
            text = token[0]
            if token[2]:
                self._obey(token[2], token[1])
            elif text[0] == "\r":
                self.column = 0
            elif text[0] == "\b":
                self.column = max(0, self.column - len(text))
            else:
                self._put(text)

    def _put(self, text: str) -> None:
        gap = self.column - len(self.cells)
        if gap > 0 and not self._fill(len(self.cells), gap):
            self.column = len(self.cells)
        end = self.column + len(text)
        self.cells[self.column : end] = text
        self.column = end

    def _obey(self, final: str, parameters: str) -> None:
        count = number(parameters)
        if final == "K":
            self.erase(count)
        elif final == "D":
            self.column = max(0, self.column - max(count, 1))
        else:  # C and a count from the cursor, G and ` from column one
            start = self.column if final in "Ca" else -1
            self.column = min(start + max(count, 1), max(self.column, len(self.cells), _EDGE))

    def erase(self, mode: int) -> None:
        """Erase from the cursor on (mode 0), up to and including the cursor (1), or all (2)."""
        if mode == 2 or (mode == 1 and self.column + 1 >= len(self.cells)):
            self.cells.clear()
        elif mode == 0:
            del self.cells[self.column :]
        elif mode == 1:
            self._fill(0, self.column + 1)

    def _fill(self, start: int, count: int) -> bool:
        if count > self.blanks:
            return False
        self.blanks -= count
        self.cells[start : start + count] = " " * count
        return True

    def shown(self) -> str:
        """Return the line without the blanks that wiped something out. Blanks before the cursor
        stay, as in `Password: `."""
        text = "".join(self.cells)
        return text[: max(self.column, len(text.rstrip(" ")))]


def number(parameters: str) -> int:
    """Return the first parameter. At most 10**9: Python refuses to convert thousands of digits, and
    no jump is that long."""
    first = parameters.partition(";")[0].lstrip("0")
    return int(first[:9] or 0) if len(first) < 10 else 10**9
