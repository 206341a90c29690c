"""The fields of what the policy decides, and of what a person approved for always."""

from __future__ import annotations

from outlive.verbs.field_kinds import maybe_string, object_of, string, strings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

_DECISIONS = ["allow", "ask", "deny"]
_APPROVALS = {
    "type": "array",
    "items": object_of(
        "One approval.",
        {
            "id": string("What `outlive policy forget` takes."),
            "command": strings("The command."),
            "cwd": string("The directory in which it is approved."),
            "by": string("Who approved it."),
            "at": string("When.", format="date-time"),
        },
    ),
}
FIELDS: dict[str, Schema] = {
    "decision": string("What is decided; of several commands, the strictest.", enum=_DECISIONS),
    "rule": maybe_string("The rule that decided: its number and what it is about, or default; null without a policy."),
    "commands": {
        "type": "array",
        "description": "The commands that it consists of.",
        "items": object_of(
            "One command.",
            {
                "command": strings("Its words; of a string that cannot be split, the string."),
                "decision": string("What is decided about it.", enum=_DECISIONS),
                "rule": string("The rule that decided."),
                "reason": maybe_string("The reason of the rule."),
            },
            {"unknown": string("Why it is not known what it runs.")},
        ),
    },
    "default": maybe_string(
        "What is decided where no rule matches; null: there is no policy.", enum=[*_DECISIONS, None]
    ),
    "rules": {
        "type": "array",
        "description": "The rules, in their order.",
        "items": object_of(
            "One rule.",
            {
                "rule": string("Its number and what it is about."),
                "decision": string("What it decides.", enum=_DECISIONS),
                "reason": maybe_string("Its reason."),
            },
        ),
    },
    "approvals": {**_APPROVALS, "description": "What was approved for always."},
    "forgotten": {**_APPROVALS, "description": "The approvals that were taken back."},
}
