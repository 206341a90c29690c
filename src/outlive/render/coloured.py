"""One line of output for a person's terminal: its text, and no control sequence but colours."""

from __future__ import annotations

import re

from outlive.render.escapes import UNFINISHED
from outlive.render.plain_text import readable

# Select Graphic Rendition: it changes how the characters after it look, and nothing else
_SGR = re.compile(r"(\x1b\[[0-9;:]*m)")
_UNFINISHED = re.compile(UNFINISHED)
RESET = "\x1b[0m"


def coloured(line: str) -> str:
    """Return a line without its newline as a terminal shows it in the end, with its colours, which
    end with it. A line that overwrites itself loses its colours."""
    if line.isprintable():
        return line
    if "\x1b[" in line:
        parts = _SGR.split(line.removesuffix("\r"))
        if len(parts) > 1 and all(readable(text) == text for text in parts[::2]):
            return "".join(parts) + RESET
    return readable(line)


def begun(line: str) -> str:
    """Return the text of a line that is not complete yet: its end may be half a sequence."""
    return readable(_UNFINISHED.sub("", line))
