"""Render a terminal's screen from the bytes that were printed on it.

An emulator in Python does one or two MB a second, and output may be gigabytes. So rendering begins near the end, if
possible at a point after which nothing earlier can be seen."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from outlive import limits
from outlive.core.records import Terminal
from outlive.parts.terminal.emulator import Emulator
from outlive.render.screen import Screen
from outlive.store.inspection.inspection import Inspection
from outlive.store.output.merged import Output

WHOLE_BYTES = 524_288  # output up to this length is rendered from the start
WINDOW_BYTES = 4_194_304  # so much of the end is searched for a starting point
TEXT_BYTES = 131_072  # so much is rendered where there is no starting point

# Sequences after which a screen begins anew: full reset; home and erase in either order
_FRESH = re.compile(rb"\x1bc|\x1b\[(?:1;1)?H\x1b\[(?:0?J|2J)|\x1b\[2J\x1b\[(?:1;1)?H|\x1b\[3J\x1b\[(?:1;1)?H\x1b\[2J")
_LEAVE = re.compile(rb"\x1b\[\?(?:47|1047|1049)l|\x1bc")
_ENTER = re.compile(rb"\x1b\[\?(?:47|1047|1049)h")
_PLACED = re.compile(rb"(?:\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]+[0-~]|\x1b[=>78])*?\x1b\[[0-9;]*H")
_TITLE = re.compile(rb"\x1b\][02];[^\x07\x1b]{0,512}(?:\x07|\x1b\\)")


def of_job(inspection: Inspection, output: Output, end: int | None = None) -> Screen:
    """Return the screen of a job's terminal as it is now, or was at output position `end`. Output after a gap is drawn on an
    empty screen."""
    terminal = inspection.state.terminal or Terminal()
    sizes = [(seq, cols, rows) for seq, cols, rows in terminal.sizes]
    sizes = sizes or [(0, limits.TERMINAL_COLS, limits.TERMINAL_ROWS)]
    return output.steady(lambda: render(output.read, output.end if end is None else end, sizes, output.gap.merged.stop))


def render(
    read: Callable[[int, int], bytes], end: int, sizes: Sequence[tuple[int, int, int]], floor: int = 0
) -> Screen:
    """Return the screen after output [0, end). Never fails, whatever the bytes are.

    `read(start, stop)` returns bytes of the output. `sizes`: (position from which on it holds, columns, rows),
    ascending; the first position is 0. `floor`: nothing before it is read, because some of it is gone."""
    start, exact, inside = _start(read, end, floor)
    cols, rows = _size_at(sizes, start)
    emulator = Emulator(cols, rows)
    if start:
        title = _last(_TITLE, read(max(floor, start - WINDOW_BYTES), start))
        emulator.feed((title[0] if title else b"") + (b"\x1b[?1049h" if inside else b""))
    at = start
    for seq, new_cols, new_rows in [size for size in sizes if start < size[0] < end]:
        emulator.feed(read(at, seq))
        emulator.resize(new_rows, new_cols)
        at = seq
    emulator.feed(read(at, end))
    cols, rows = _size_at(sizes, end)
    if (emulator.columns, emulator.lines) != (cols, rows):
        emulator.resize(rows, cols)
    return Screen(
        lines=emulator.text(),
        cols=emulator.columns,
        rows=emulator.lines,
        row=emulator.cursor.y,
        column=min(emulator.cursor.x, emulator.columns - 1),
        cursor_visible=not emulator.cursor.hidden,
        alternate=emulator.alternate,
        title=emulator.title or None,
        since=start,
        exact=exact,
        paint=emulator.paint,
    )


def _size_at(sizes: Sequence[tuple[int, int, int]], position: int) -> tuple[int, int]:
    holding = [size for size in sizes if size[0] <= position] or [sizes[0]]
    return holding[-1][1], holding[-1][2]


def _start(read: Callable[[int, int], bytes], end: int, floor: int) -> tuple[int, bool, bool]:
    """Return where to begin, whether everything that can be seen is printed after it, and whether
    it is inside an alternate screen."""
    if end <= WHOLE_BYTES and not floor:
        return 0, True, False
    base = max(floor, end - WINDOW_BYTES)
    window = read(base, end)
    left = _last(_LEAVE, window)
    entered = _ENTER.search(window, left.end() if left else 0)  # a second entry changes nothing
    # Drawing inside an alternate screen that was left again says nothing about the main screen that
    # came back. Inside an alternate screen its entry is a better start than a later erase: the main
    # screen cannot be seen, but whether the screen is the alternate one is part of the answer.
    fresh = _last(_FRESH, window, left.start() if left else 0)
    # A program that does not place the cursor after the entry goes on where the main screen's
    # cursor was
    placed = _PLACED.match(window, entered.end()) if entered else None
    for match in (entered if placed else None, fresh, entered):
        if match is not None and len(window) - match.start() <= WHOLE_BYTES:
            exact = match is not entered or placed is not None
            return base + match.start(), exact, entered is not None and entered.start() < match.start()
    text = max(0, len(window) - TEXT_BYTES)
    line = window.find(b"\n", text)
    exact = len(window) >= TEXT_BYTES and b"\x1b" not in window[text:] and line >= 0 and entered is None
    return base + (line + 1 if line >= 0 else text), exact, entered is not None


def _last(pattern: re.Pattern[bytes], data: bytes, floor: int = 0) -> re.Match[bytes] | None:
    match = None
    for one in pattern.finditer(data, floor):
        match = one
    return match
