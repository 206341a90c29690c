"""The schemas of what a job may use."""

from __future__ import annotations

from outlive.core.resources import APPLIED, NAMES
from outlive.verbs.field_kinds import _object, _string

RESOURCES = _object(
    "What the job may use, as asked for; absent where nothing was.",
    {},
    {
        name: _object(
            "One of it.",
            {"value": {"description": "How much: memory in bytes, cpu_time as a text with its unit."}},
            {
                "applied": _string("What applies it since the start; not_supported: nothing does.", enum=[*APPLIED]),
                "why": _string("Why it is not supported, or what to know of how it is applied."),
            },
        )
        for name in NAMES
    },
)
