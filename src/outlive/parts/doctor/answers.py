"""The answer of doctor."""

from __future__ import annotations

from outlive.answers import Answer, field
from outlive.parts.finding_shapes import OwnFinding


class Examined(Answer):  # of doctor
    healthy: bool = field("Did no check fail? Warnings do not count.")
    checks: list[OwnFinding] = field("What was checked.")
