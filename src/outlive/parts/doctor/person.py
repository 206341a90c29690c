"""What a person reads of the checks."""

from __future__ import annotations

from outlive.cli.human import label_of
from outlive.cli.text import Style
from outlive.core.members import Members, entries_of, text_of
from outlive.core.quoted import visible

_COLOURS = {"ok": "32", "warn": "33", "fail": "31"}


def for_person(answer: Members, style: Style, *, verbose: bool) -> str:
    """Return one line for each check, with what to do below it."""
    checks = entries_of(answer, "checks")
    width = max(len(text_of(check, "name")) for check in checks)
    lines = []
    for check in checks:
        status = text_of(check, "status")
        status = style.paint(status.ljust(4), _COLOURS.get(status))
        lines.append(
            f"{status}  {visible(label_of(text_of(check, 'name'))).ljust(width)}  {visible(text_of(check, 'found'))}"
        )
        if check.get("advice"):
            lines.append(f"{' ' * (width + 8)}→ {visible(text_of(check, 'advice'))}")
    counts = [text_of(check, "status") for check in checks]
    verdict = f"{counts.count('fail')} failed, {counts.count('warn')} to think about"
    return "\n".join([*lines, "", verdict if set(counts) - {"ok"} else "All is well."]) + "\n"
