"""The text that a terminal shows in the end, after it has obeyed every control character. For
reading, not for replay."""

from __future__ import annotations

import re

from outlive.render.escapes import MOTION, NOISE

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
