"""Print the JSON Schema of every answer, made from the declarations of the verbs."""

from __future__ import annotations

from outlive import limits, verbs
from outlive.errors import CODES
from outlive.verbs import fields
from outlive.verbs.spec import Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context

CHANGED = "2026-11-22T09:24:00.000Z"  # when this schema last changed


def schema(ctx: Context) -> dict[str, Any]:
    """Return a JSON Schema (2020-12) with one definition for each type of answer."""
    return {"schema_format": "json-schema-2020-12", "schema": document(), "generated_at": CHANGED}


def document() -> dict[str, Any]:
    """Return the content of `schema/outlive.schema.json`."""
    answering = [verb for verb in map(verbs.load, verbs.names()) if not verb.program]
    kinds = {verb.type: _answer(verb) for verb in answering}
    definitions = {**dict(sorted(kinds.items())), "error": _error()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": CHANGED,
        "title": "outlive answers",
        "description": "Every answer of outlive: of the CLI on stdout, and of MCP as structuredContent.",
        "$defs": definitions,
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in definitions],
    }


def _envelope(ok: bool, type_: str) -> dict[str, Any]:
    return {
        "schema_version": {"const": limits.SCHEMA_VERSION},
        "ok": {"const": ok},
        "type": {"const": type_},
    }


def _answer(verb: Verb) -> dict[str, Any]:
    entry = fields.entry_of(verb.result, verb.type)
    envelope = _envelope(True, verb.type)
    return {
        "type": "object",
        "description": verb.help,
        "properties": {**envelope, **entry["properties"], "notices": fields.NOTICES},
        "required": [*envelope, *entry["required"]],
    }


def _error() -> dict[str, Any]:
    envelope = _envelope(False, "error")
    detail = {
        "type": "object",
        "properties": {
            "code": {"type": "string", "enum": list(CODES), "description": "What kind of failure."},
            "message": {"type": "string", "description": "What failed, and on what."},
            "retryable": {"type": "boolean", "description": "May the same call succeed later?"},
            "hint": {"type": "string", "description": "What to do next."},
            "details": {"type": "object", "description": "Facts for a program."},
        },
        "required": ["code", "message", "retryable"],
    }
    return {
        "type": "object",
        "description": "A call that failed.",
        "properties": {**envelope, "error": detail, "notices": fields.NOTICES},
        "required": [*envelope, "error"],
    }


VERB = Verb(
    "schema",
    "Print the JSON Schema of every answer.",
    schema,
    result="schema_format schema generated_at",
    mcp=False,
)
