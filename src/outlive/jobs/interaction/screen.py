"""The screen of a job's terminal, which stands in for the output while a program fills it.

An editor or a menu prints cells at places, not lines. Read as text they are thousands of characters
without sense, so an answer shows the screen that they make. Most such programs switch to the
alternate screen; some, like `top`, paint the main screen again and again.
"""

from __future__ import annotations

import re

from outlive import limits, parts
from outlive.answers.output import Cursor, Shown
from outlive.core.quoted import escape, visible
from outlive.core.records import Terminal
from outlive.render import window
from outlive.render.decode import decode
from outlive.render.plain_text import readable
from outlive.render.screen import Screen, folded
from outlive.render.sources import View
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output

# To the alternate screen and back (xterm's ctlseqs); a full reset leads back too
_SWITCH = rb"\x1bc|\x1b\[\?(?:[0-9]+;)*(?:47|1047|1049)(?:;[0-9]+)*([hl])"
_HOME = rb"\x1bc|\x1b\[(?:1?;?1?)H"  # a repaint begins at the upper left
_SEARCHED_BYTES = 4_194_304  # so much of the end is searched for a switch or a repaint
_REPAINT_BYTES = 65_536  # one repaint is not longer


def drawn(inspection: Inspection, output: Output, end: int | None = None) -> Screen | None:
    """Return the screen as it is now, or was at output position `end`; None without a part that draws it."""
    screen: Screen | None = parts.first("screen", inspection, output, end)
    return screen


def alternate_since(inspection: Inspection, output: Output, since: int) -> int | None:
    """Return where after `since` the alternate screen was entered that is on now, `since` if it was
    on already, None if it is not on."""
    terminal = inspection.state.terminal
    return output.steady(_alternate_since, terminal, output, since) if terminal else None


def _alternate_since(terminal: Terminal, output: Output, since: int) -> int | None:
    # The supervisor writes the mode down up to a second late: it holds at `scanned`, or a bit later
    recorded = terminal.modes.get("alternate_screen", False)
    start = max(0, min(since, terminal.scanned), output.end - _SEARCHED_BYTES, output.gap.merged.stop)
    entered: int | None = None
    switched = False
    for switch in re.finditer(_SWITCH, output.read(start, output.end)):
        switched = True
        if switch[1] != b"h":
            entered = None
        elif entered is None:  # a second entry changes nothing
            entered = start + switch.start()
    if not switched:
        return since if recorded else None
    return None if entered is None else max(since, entered)


def repainted_since(inspection: Inspection, output: Output, since: int) -> int | None:
    """Return where after `since` a running program began to paint the main screen more than once;
    None if it did not, or if a repaint scrolled lines away, which the screen cannot show."""
    if inspection.state.finished or not inspection.state.terminal:
        return None
    start = max(since, output.end - _SEARCHED_BYTES, output.gap.merged.stop)
    data = output.read(start, output.end)
    homes = [home.start() for home in re.finditer(_HOME, data)]
    if len(homes) < 2:
        return None
    rows = _rows(inspection.state.terminal)
    paints = zip(homes, [*homes[1:], len(data)], strict=True)
    if any(data.count(b"\n", begin, end) >= rows for begin, end in paints):
        return None
    return start + homes[0]


def is_painted(inspection: Inspection, output: Output) -> bool:
    """Return whether the last repaint fills exactly the rows of the main screen: its last line is
    not a prompt then."""
    data = output.read(max(0, output.end - _REPAINT_BYTES), output.end)
    homes = list(re.finditer(_HOME, data))
    return bool(homes) and data.count(b"\n", homes[-1].end()) == _rows(inspection.state.terminal or Terminal()) - 1


def _rows(terminal: Terminal) -> int:
    return terminal.sizes[-1][2] if terminal.sizes else limits.TERMINAL_ROWS


def instead_of_output(inspection: Inspection, job: JobDir, output: Output, since: int, max_bytes: int) -> Shown | None:
    """Return the output from `since` on, with the screen in place of what draws it; None if no
    program fills the screen, if nothing was printed, or if no part draws it."""
    if since >= output.end:
        return None
    entered = alternate_since(inspection, output, since)
    alternate = entered is not None
    if entered is None:
        entered = repainted_since(inspection, output, since)
    if entered is None:
        return None
    screen = drawn(inspection, output)
    if screen is None:
        return None
    rows = text(screen, max_bytes)
    room = max(1, max_bytes - len(rows.encode("utf-8", "replace")))
    before = window.show(job, output, since, entered, View(room), more=False)
    above = f"{before.output}\n" if before.output and not before.output.endswith("\n") else before.output
    return Shown(
        output=f"{above}{rows}\n",
        since_seq=since,
        next_seq=output.end,
        truncated=before.truncated,
        gaps=before.gaps,
        alternate_screen=alternate or None,
        cursor=Cursor(row=screen.row, column=screen.column, visible=screen.cursor_visible),
    )


def text(screen: Screen, max_bytes: int) -> str:
    """Return the rows that fit into `max_bytes`, with empty and equal ones folded."""
    rows = folded(screen.lines)
    data = rows.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return rows
    return (
        data[: max(0, data.rfind(b"\n", 0, max_bytes))].decode("utf-8", "ignore") + "\n[more rows: screen shows them]"
    )


def prompt(inspection: Inspection, output: Output) -> str:
    """Return the unfinished last line, of a job without a terminal what was added to it since the last input; empty for
    a program that fills the screen."""
    if inspection.state.terminal:
        if alternate_since(inspection, output, output.end) is not None or is_painted(inspection, output):
            return ""
    waiting = inspection.state.waiting
    start = max(output.end - limits.PROMPT_BYTES, (waiting and waiting.answered) or 0)
    shown, _ = decode(output.pieces(start, output.end), more=False)
    # What `readable` would take out or leave unseen, a prompt shows: it is a name of what is asked for
    shown = visible(shown, lambda char: char if char < "\xa0" else escape(char))
    return readable(shown).rpartition("\n")[2].strip()[-limits.PROMPT_CHARS :]
