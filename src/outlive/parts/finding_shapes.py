"""A finding (finding.py) as answers have it: for the JSON Schema and the reference pages, as answers/shapes.py."""

from __future__ import annotations

from typing import Annotated

from outlive.answers import Fields, field, optional


class _Finding(Fields):
    """One check."""

    name: str = field("What it is about.")
    status: str = field("fail: jobs do not run there. warn: something to know.", enum=["ok", "warn", "fail"])
    found: str = field("What there is, in one sentence.")
    advice: str | None = optional("What to do about it.")


class _OwnFinding(_Finding):
    """One check."""

    status: str = field(
        "fail: outlive does not work as promised. warn: something to know.", enum=["ok", "warn", "fail"]
    )
    details: dict[str, object] | None = optional("The same for a program; what is in it depends on the check.")


Finding = Annotated[dict[str, object], _Finding]
OwnFinding = Annotated[dict[str, object], _OwnFinding]
