"""The screen of a job's terminal, which stands in for the output while a program fills it.

An editor or a menu prints cells at places, not lines. Read as text they are thousands of characters
without sense, so an answer shows the screen that they make.
"""

from __future__ import annotations

import re

from outlive import limits
from outlive.render import window
from outlive.render.rows import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.render.screen import Screen
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir
    from outlive.store.output.merged import Output

# To the alternate screen and back (xterm's ctlseqs); a full reset leads back too
_SWITCH = re.compile(rb"\x1bc|\x1b\[\?(?:[0-9]+;)*(?:47|1047|1049)(?:;[0-9]+)*([hl])")
_SEARCHED_BYTES = 4_194_304  # so much of the end is searched for a switch


def drawn(found: Inspection, output: Output) -> Screen:
    """Return the screen as it is now. Output after a gap is drawn on an empty screen."""
    from outlive.render.screen import render  # 40 ms

    terminal = found.state.terminal or {}
    sizes = [(seq, cols, rows) for seq, cols, rows in terminal.get("sizes", [])]
    sizes = sizes or [(0, limits.TERMINAL_COLS, limits.TERMINAL_ROWS)]
    return output.steady(lambda: render(output.read, output.end, sizes, output.gap.merged.stop))


def alternate_since(found: Inspection, output: Output, since: int) -> int | None:
    """Return where after `since` the alternate screen was entered that is on now, `since` if it was
    on already, None if it is not on."""
    terminal = found.state.terminal
    return None if not terminal else output.steady(_alternate_since, terminal, output, since)


def _alternate_since(terminal: dict[str, Any], output: Output, since: int) -> int | None:
    # The supervisor writes the mode down up to a second late: it holds at `scanned`, or a bit later
    scanned = int(terminal.get("scanned") or 0)
    recorded = bool((terminal.get("modes") or {}).get("alternate_screen"))
    start = max(0, min(since, scanned), output.end - _SEARCHED_BYTES, output.gap.merged.stop)
    entered: int | None = None
    switched = False
    for switch in _SWITCH.finditer(output.read(start, output.end)):
        switched = True
        if switch[1] != b"h":
            entered = None
        elif entered is None:  # a second entry changes nothing
            entered = start + switch.start()
    if not switched:
        return since if recorded else None
    return None if entered is None else max(since, entered)


def instead_of_output(
    found: Inspection, job: JobDir, output: Output, since: int, max_bytes: int
) -> window.Shown | None:
    """Return the output from `since` on, with the screen in place of what draws it; None if no
    program fills the screen, or if nothing was printed."""
    if since >= output.end:
        return None
    entered = alternate_since(found, output, since)
    if entered is None:
        return None
    screen = drawn(found, output)
    rows = text(screen, max_bytes)
    room = max(1, max_bytes - len(rows.encode("utf-8", "replace")))
    before = window.show(job, output, since, entered, max_bytes=room, raw=False, more=False)
    above = f"{before.text}\n" if before.text and not before.text.endswith("\n") else before.text
    cursor = {"row": screen.row, "column": screen.column, "visible": screen.cursor_visible}
    shown = window.Shown(f"{above}{rows}\n", since, output.end, before.truncated, before.gaps)
    shown.cursor = cursor
    return shown


def text(screen: Screen, max_bytes: int) -> str:
    """Return the rows that fit into `max_bytes`, with empty and equal ones folded."""
    rows = folded(screen.lines)
    data = rows.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return rows
    return (
        data[: max(0, data.rfind(b"\n", 0, max_bytes))].decode("utf-8", "ignore") + "\n[more rows: screen shows them]"
    )
