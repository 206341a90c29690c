"""Type into a terminal as a person does: what is typed comes first, and Enter is a key of its own.

A program that takes keys one by one reads what is there. If a text and the carriage return behind it come in one read, a
program that fills the screen takes both for something pasted, and the return for a new line in it. So Enter is pressed
some time after the program has read the text.

A terminal in line mode holds a line back until Enter, up to 4,095 bytes of it, and drops the rest without a sign.
"""

from __future__ import annotations

import re
import time

from outlive import limits
from outlive.core.members import number_of
from outlive.core.record import Value
from outlive.jobs.control_client import ask
from outlive.jobs.interaction import screen
from outlive.render.plain_text import readable
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.system.waiting import pause

BEGIN, END = b"\x1b[200~", b"\x1b[201~"  # around what is pasted (xterm's ctlseqs, bracketed paste)

_ENTER_S = 0.25  # after a program has read a text; Codex takes what comes within 0.12 s for one paste
_READ_S = 2.0  # a program that has not read the text by then finds Enter behind it
_LOOK_S = 0.02
_TAIL_CHARS = 30  # of a text are looked for: a long one is wrapped
_KEYS = re.compile(rb"[\x00-\x08\x0a-\x0c\x0e-\x1f\x7f]")  # in a text they are meant as such
_BLANK = re.compile(r"[\s\u2500-\u259f|]+")  # and the lines of a box


class Terminal(Value):
    """What a caller that types has to know of a terminal. `begun`: bytes of a line that was begun. `unread`: bytes that
    the program has not read."""

    canonical: bool
    bracketed: bool
    begun: int
    unread: int


class Typed(Value):
    """Where the output ended when a text was typed, and when Enter was pressed behind it."""

    text_at: int
    enter_at: int


def terminal_of(job: JobDir) -> Terminal:
    """Ask the supervisor. Errors: as for `ask`; not_a_pty."""
    facts = ask(job, {"op": "terminal"})
    return Terminal(
        bool(facts.get("canonical")),
        bool(facts.get("bracketed_paste")),
        number_of(facts, "line_bytes"),
        number_of(facts, "unread"),
    )


def too_long(terminal: Terminal, data: bytes) -> str | None:
    """Return what a terminal in line mode would lose of this; None if it takes all of it."""
    if not terminal.canonical:
        return None
    first, *others = (
        len(line) for line in re.split(rb"[\x00-\x08\x0a-\x1f]", data)
    )  # what ends a line, or takes it back
    longest = max([terminal.begun + first if first else 0, *others])
    if longest <= limits.TERMINAL_LINE_BYTES:
        return None
    return f"the terminal takes lines of at most {limits.TERMINAL_LINE_BYTES:,} bytes, and one was {longest:,}"


def bursts(terminal: Terminal, text: bytes, keys: bytes) -> list[bytes]:
    """Return what to write at once, with a pause between: each Enter among `keys` comes alone, unless the terminal is in
    line mode."""
    if terminal.canonical or b"\r" not in keys:
        return [text + keys]
    pressed: list[bytes] = re.findall(rb"\r|[^\r]+", keys)
    if text and pressed[0] != b"\r":
        return [text + pressed[0], *pressed[1:]]
    return [text, *pressed] if text else pressed


def as_pasted(terminal: Terminal, text: bytes) -> bytes:
    """Return a text of several lines, or with a tab, in paste markers, if the program asked for them: typed, each newline
    would be Enter, and the tab a key.

    One line is typed: an editor takes what is pasted for text, and what is typed for a command; bash shows what is pasted
    twice, first in inverse video.
    """
    lines = text.replace(b"\r\n", b"\n").replace(b"\n", b"\r")
    if terminal.canonical or not terminal.bracketed or not re.search(rb"[\t\r]", lines) or _KEYS.search(lines):
        return text
    return BEGIN + lines + END


def wait_until_read(job: JobDir) -> None:
    """Wait until Enter can be pressed: until the program has read what was typed, and some time more."""
    latest = time.monotonic() + _READ_S
    while terminal_of(job).unread and time.monotonic() < latest:
        pause((), time.monotonic() + _LOOK_S)
    pause((), time.monotonic() + _ENTER_S)


def still_stands(inspection: Inspection, output: Output, text: str, typed: Typed) -> bool:
    """Return whether the screen still holds the text where it stood before Enter, so that Enter was not taken as such."""
    tail = _squeezed(readable(text).strip().rpartition("\n")[2])[-_TAIL_CHARS:]
    echo = output.read(typed.text_at, typed.enter_at).decode("utf-8", "replace")
    if not tail or inspection.state.terminal is None or tail not in _squeezed(readable(echo)):
        return False
    before, after = screen.drawn(inspection, output, typed.enter_at), screen.drawn(inspection, output)
    if before is None or after is None:
        return False
    rows = [row for row, line in enumerate(before.lines) if tail in _squeezed(line)]
    if not rows or after.lines[rows[-1]] != before.lines[rows[-1]]:
        return False
    if after.cursor_visible:
        return after.row == before.row == rows[-1]
    return _last_row(after.lines) == _last_row(before.lines)


def _squeezed(text: str) -> str:
    return _BLANK.sub("", text)


def _last_row(lines: list[str]) -> int:
    return max((row for row, line in enumerate(lines) if line.strip()), default=-1)
