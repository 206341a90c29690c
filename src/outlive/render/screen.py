"""The screen of a terminal, which a part of outlive draws, and its rows as text."""

from __future__ import annotations

from collections.abc import Callable

from outlive.core.record import Value

_FOLDED = 3  # so many equal rows in a row are shown as one line


class Screen(Value):
    """`lines`: one string a row, without blanks at its end. `row`, `column`: the cursor, from 0. `title`: None if there is
    none. `since`: the output position from which it was drawn. `exact`: False if something that was printed before may be
    missing. `paint` returns what draws it on another terminal."""

    lines: list[str]
    cols: int
    rows: int
    row: int
    column: int
    cursor_visible: bool
    alternate: bool
    title: str | None
    since: int
    exact: bool
    paint: Callable[[], bytes]


def folded(rows: list[str], first: int = 0) -> str:
    """Return the rows as lines, with one line in place of rows that are empty or equal. Rows are counted from `first`,
    0 for the top of the screen, as the cursor's are. Empty rows at the end are left out."""
    last = max((number for number, row in enumerate(rows) if row), default=-1)
    lines: list[str] = []
    at = 0
    while at <= last:
        end = at + 1
        while end <= last and rows[end] == rows[at]:
            end += 1
        if end - at < _FOLDED:
            lines += rows[at:end]
        elif rows[at]:
            lines += [rows[at], f"[rows {first + at + 1}-{first + end - 1}: the same]"]
        else:
            lines.append(f"[rows {first + at}-{first + end - 1}: empty]")
        at = end
    return "\n".join(lines)
