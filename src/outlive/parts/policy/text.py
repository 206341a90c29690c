"""The answer of `outlive policy list` as text."""

from __future__ import annotations

from typing import Any

from outlive.cli import human
from outlive.cli.text import Style


def policy_list(answer: dict[str, Any], style: Style, *, verbose: bool) -> str:
    if answer["rules"] or answer["approvals"]:
        return human.fields(answer, style)
    return "There are no rules, and nothing was approved for good.\n"
