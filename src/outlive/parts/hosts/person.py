"""What a person reads of the hosts."""

from __future__ import annotations

from outlive.cli import human
from outlive.cli.text import Style
from outlive.core.members import Members, entries_of


def hosts(answer: Members, style: Style, *, verbose: bool) -> str:
    return human.table_of(entries_of(answer, "hosts"), style)
