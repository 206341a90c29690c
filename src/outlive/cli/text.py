"""Text for a person's terminal: lines without control characters, tables, durations, sizes."""

from __future__ import annotations

import os
import time
import unicodedata
from collections.abc import Mapping

from outlive.core.quoted import visible


class Style:
    """What the terminal can show: colours, width, and the time to count from."""

    __slots__ = ("colour", "now", "width")

    def __init__(self, *, colour: bool = False, width: int | None = None, now: float | None = None) -> None:
        self.colour = colour
        self.width = width  # columns to cut tables at; None: no limit
        self.now = time.time() if now is None else now

    @classmethod
    def of_stdout(cls, env: Mapping[str, str]) -> Style:
        if not os.isatty(1):
            return cls()
        try:
            width = os.get_terminal_size(1).columns or None
        except OSError:
            width = None
        return cls(colour=not env.get("NO_COLOR") and env.get("TERM") != "dumb", width=width)

    def paint(self, text: str, code: str | None) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code else text


def table(
    head: tuple[str, ...], rows: list[list[str]], style: Style, *, colours: list[str | None] | None = None
) -> str:
    """Return left-aligned columns; rows are cut at the width of the terminal. A colour applies to its whole row."""
    shown = [list(head), *([visible(cell) for cell in row] for row in rows)]
    widths = [max(map(columns, cells)) for cells in zip(*shown, strict=True)]
    lines = []
    for at, row in enumerate(shown):
        text = "  ".join(cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True))
        code = "1" if at == 0 else (colours[at - 1] if colours else None)
        lines.append(style.paint(cut(text.rstrip(), style.width), code))
    return "\n".join(lines) + "\n"


def columns(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(_char_columns(char) for char in text)


def _char_columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def cut(text: str, width: int | None) -> str:
    if width is None or columns(text) <= width:
        return text
    while text and columns(text) > width - 1:
        text = text[:-1]
    return text + "…"
