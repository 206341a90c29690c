"""The screen of a terminal, which a part of outlive draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Screen(NamedTuple):
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
