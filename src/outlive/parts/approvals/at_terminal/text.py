"""The answer of `outlive inbox` as text."""

from __future__ import annotations

from typing import Any

from outlive.cli.text import Style
from outlive.core import quoted
from outlive.core.quoted import visible
from outlive.core.units import duration, seconds_or
from outlive.parts.approvals.answers import APPROVAL

NOTHING = "Nothing waits for you.\n"


def inbox(answer: dict[str, Any], style: Style, *, verbose: bool) -> str:
    """Return the questions for a person who reads them where nothing can be asked."""
    questions = [about(one, style) for one in answer["questions"]] or [NOTHING]
    notes = [f"{answer['skipped']} could not be read." if answer["skipped"] else "", visible(answer.get("hint") or "")]
    footer = " ".join(filter(None, notes))
    return "\n".join(questions) + (f"\n({footer})\n" if footer else "")


def about(question: dict[str, Any], style: Style) -> str:
    """Return what is asked, by which job, where, and since when."""
    waits = duration(max(0, int(style.now - seconds_or(question["since"], style.now))) * 1000)
    lines = [f"{style.paint(visible(question['name']), '1')}  job {visible(question['short_id'])}, waits for {waits}"]
    lines.append(f"  {'Command' if question['kind'] != APPROVAL else 'May it run?'}: {_command(question)}")
    lines.append(f"  Directory: {quoted.quoted(question['cwd'])}")
    if question.get("host"):
        lines.append(f"  Host: {quoted.quoted(question['host'])}")
    if question["kind"] == APPROVAL:
        rule = (question.get("approval") or {}).get("rule")
        lines += [f"  Asked by: {quoted.quoted(str(rule))}"] if rule else []
    else:
        lines.append(f"  It asks: {question['question'] or 'what its screen shows; outlive attach joins it'}")
    if question.get("echo") is False:
        lines.append("  It hides what is typed, as for a password.")
    if question.get("keyboard"):
        lines.append(f"  {visible(question['keyboard']['held_by'])} types into its terminal now.")
    return "\n".join(lines) + "\n"


def _command(question: dict[str, Any]) -> str:
    rest = question.get("command_bytes")
    return quoted.command(question["command"]) + (f" … ({rest:,} bytes)" if rest else "")
