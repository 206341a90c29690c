"""What a terminal shows in the end of lines that a program drew again: it moved the cursor up and erased them."""

from __future__ import annotations

import re

from outlive.render.plain_text import CSI, REMOVED, SPARE_BLANKS, Line, number, readable

# Up and down, both also to the first column, and what is below erased. Groups: parameter, final character
_VERTICAL = rf"{CSI}([0-9]*+)([ABEFJ])|\x1bM"
_UP = rf"{CSI}[0-9]*+[AF]|\x1bM"
# The cursor to a row of the screen
_PLACED = rf"{CSI}[0-9;]*+[Hfd]"
# Frames of a spinner: fewer lines may be anything, and no spinner has more kinds
_LEAST_FRAMES, _SHOWN_FRAMES, _MOST_FRAMES = 32, 3, 16


def replayed(text: str) -> str:
    """Return what `readable` returns of a text without moves up; else the rows as they were last drawn. A move beyond the
    first row stops there."""
    if "\x1b" not in text and "\x9b" not in text:
        return readable(text)
    text = _rows_apart(text)
    if not re.search(_UP, text):
        return readable(text)
    rows = _Rows(SPARE_BLANKS + len(text))
    at = 0
    for move in re.finditer(_VERTICAL, text):
        rows.write(text[at : move.start()])
        rows.obey(move[2] or "A", number(move[1] or ""))
        at = move.end()
    rows.write(text[at:])
    return rows.shown()


def _rows_apart(text: str) -> str:
    """Return a text in which what a program wrote at a place of its screen is a line of its own, and no part of the line
    before. Of rows that are alike, one after the other, one is kept."""
    parts = re.split(_PLACED, text)
    if len(parts) == 1:
        return text
    kept, before = [parts[0]], ""
    for part in parts[1:]:
        shown = readable(part).strip()
        if not shown:  # nothing but what would erase something in the line before
            kept += ["\n" * part.count("\n")] if "\n" in part else []
        elif shown != before:
            is_begun = readable(kept[-1].rpartition("\n")[2]).strip() != ""
            kept.append(f"\n{part}" if is_begun else part)
            before = shown
    return "".join(kept)


def without_frames(text: str) -> str:
    """Return a text with few of the frames of a spinner that was printed line by line: lines that are alike but for one
    character, which is no letter and no digit, or that are one such character."""
    if text.count("\n") < _LEAST_FRAMES:
        return text
    lines, kept, at = text.split("\n"), [], 0
    while at < len(lines):
        count, turns = _frames(lines, at)
        stop = at + count
        if not turns or count < _LEAST_FRAMES:
            kept += lines[at:stop]
        else:
            kept += [
                *lines[at : at + _SHOWN_FRAMES],
                f"[... {count - _SHOWN_FRAMES:,} more lines like these; log shows them ...]",
            ]
        at = stop
    return "\n".join(kept)


def _frames(lines: list[str], at: int) -> tuple[int, bool]:
    """Return how many lines from `at` on are alike, and whether they are frames of a spinner."""
    first, place, stop = lines[at], None, at + 1
    seen = {first}
    while stop < len(lines):
        line = lines[stop]
        if line not in seen:
            if len(line) != len(first) or len(seen) == _MOST_FRAMES:
                break
            places = [index for index, char in enumerate(line) if char != first[index]]
            if len(places) > 1 or (place is not None and places[0] != place):
                break
            place = places[0]
            if not (_is_symbol(line[place]) and _is_symbol(first[place])):
                break
            seen.add(line)
        stop += 1
    return stop - at, len(seen) > 1 or (len(first) == 1 and _is_symbol(first))


def _is_symbol(char: str) -> bool:
    return not char.isalnum() and not char.isspace()


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
