"""The rows of a screen as text: rows that say nothing, or the same again, are folded."""

from __future__ import annotations

_FOLDED = 3  # so many equal rows in a row are shown as one line


def folded(rows: list[str], first: int = 0) -> str:
    """Return the rows as lines, with one line in place of rows that are empty or equal.

    Rows are counted from `first`, 0 for the top of the screen, as the cursor's are. Empty rows at the end are left
    out."""
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
