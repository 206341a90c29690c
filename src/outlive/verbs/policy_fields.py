"""The fields of what the policy decides, and of what a person approved for always."""

from __future__ import annotations

from outlive.verbs.field_kinds import _maybe_string, _object, _string, _strings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

_DECISIONS = ["allow", "ask", "deny"]
_APPROVALS = {
    "type": "array",
    "items": _object(
        "One approval.",
        {
            "id": _string("What `outlive policy forget` takes."),
            "command": _strings("The command."),
            "cwd": _string("The directory in which it is approved."),
            "by": _string("Who approved it."),
            "at": _string("When.", format="date-time"),
        },
    ),
}
FIELDS: dict[str, Schema] = {
    "decision": _string("What is decided; of several commands, the strictest.", enum=_DECISIONS),
    "rule": _maybe_string("The rule that decided: its number and what it is about, or default; null without a policy."),
    "commands": {
        "type": "array",
        "description": "The commands that it consists of.",
        "items": _object(
            "One command.",
            {
                "command": _strings("Its words; of a string that cannot be split, the string."),
                "decision": _string("What is decided about it.", enum=_DECISIONS),
                "rule": _string("The rule that decided."),
                "reason": _maybe_string("The reason of the rule."),
            },
            {"unknown": _string("Why it is not known what it runs.")},
        ),
    },
    "default": _maybe_string(
        "What is decided where no rule matches; null: there is no policy.", enum=[*_DECISIONS, None]
    ),
    "rules": {
        "type": "array",
        "description": "The rules, in their order.",
        "items": _object(
            "One rule.",
            {
                "rule": _string("Its number and what it is about."),
                "decision": _string("What it decides.", enum=_DECISIONS),
                "reason": _maybe_string("Its reason."),
            },
        ),
    },
    "approvals": {**_APPROVALS, "description": "What was approved for always."},
    "forgotten": {**_APPROVALS, "description": "The approvals that were taken back."},
}
