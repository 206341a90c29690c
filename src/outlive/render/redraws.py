"""What a terminal shows in the end of lines that a program drew again: it moved the cursor up and erased them."""

from __future__ import annotations

import re

from outlive.render.escapes import CSI
from outlive.render.plain_text import REMOVED, SPARE_BLANKS, Line, number, readable

# Up and down, both also to the first column, and what is below erased. Groups: parameter, final character
_VERTICAL = rf"{CSI}([0-9]*+)([ABEFJ])|\x1bM"
_UP = rf"{CSI}[0-9]*+[AF]|\x1bM"


def replayed(text: str) -> str:
    """Return what `readable` returns of a text without moves up; else the rows as they were last drawn. A move beyond the
    first row stops there."""
    if ("\x1b" not in text and "\x9b" not in text) or not re.search(_UP, text):
        return readable(text)
    rows = _Rows(SPARE_BLANKS + len(text))
    at = 0
    for move in re.finditer(_VERTICAL, text):
        rows.write(text[at : move.start()])
        rows.obey(move[2] or "A", number(move[1] or ""))
        at = move.end()
    rows.write(text[at:])
    return rows.shown()


class _Rows:
    def __init__(self, blanks: int) -> None:
        self._rows: list[list[str]] = [[]]
        self._row = 0
        self._line = Line(blanks)
        self._line.cells = self._rows[0]

    def write(self, text: str) -> None:
        text = re.sub(REMOVED, "", text.replace("\r\n", "\n"))
        for index, part in enumerate(text.split("\n")):
            if index:
                self._go_to(self._row + 1)
                self._line.column = 0
            if part:
                self._line.write(part)

    def obey(self, final: str, count: int) -> None:
        if final == "J":
            if not count:
                self._line.erase(0)
                del self._rows[self._row + 1 :]
            return
        up = final in "AF"
        self._go_to(max(0, self._row - max(1, count)) if up else min(len(self._rows) - 1, self._row + max(1, count)))
        if final in "EF":
            self._line.column = 0

    def _go_to(self, row: int) -> None:
        if row == len(self._rows):
            self._rows.append([])
        self._row = row
        self._line.cells = self._rows[row]

    def shown(self) -> str:
        """Return the rows, without those below the cursor that were erased."""
        lines = ["".join(row).rstrip(" ") for row in self._rows]
        lines[self._row] = self._line.shown()
        while len(lines) > self._row + 1 and not lines[-1]:
            lines.pop()
        return "\n".join(lines)
