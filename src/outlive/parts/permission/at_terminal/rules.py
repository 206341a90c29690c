"""The rules of the policy as text."""

from __future__ import annotations

from outlive.cli import human
from outlive.cli.text import Style
from outlive.core.members import Members


def text(answer: Members, style: Style, *, verbose: bool) -> str:
    if answer["rules"] or answer["approvals"]:
        return human.fields(answer, style)
    return "There are no rules, and nothing was approved for good.\n"
