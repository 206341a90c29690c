"""Print the JSON Schema of every answer, made from the declarations of the verbs."""

from __future__ import annotations

from outlive import limits, verbs
from outlive.errors import CODES
from outlive.verbs import brief, fields
from outlive.verbs.spec import Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context

CHANGED = "2026-11-22T11:50:00.000Z"  # when this schema last changed


def schema(ctx: Context) -> dict[str, Any]:
    """Return a JSON Schema (2020-12) with one definition for each type of answer."""
    return {"schema_format": "json-schema-2020-12", "schema": document(), "generated_at": CHANGED}


def document() -> dict[str, Any]:
    """Return the content of `schema/outlive.schema.json`."""
    answering = [verb for verb in map(verbs.load, verbs.names()) if verb.result or not verb.program]
    kinds = {verb.type: _answer(verb) for verb in answering}
    briefs = {f"{verb.type}_brief": _brief(verb) for verb in answering if verb.mcp}
    definitions = {**dict(sorted((kinds | briefs).items())), "error": _error()}
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
    session = ("sessionId", "status") if {"job_id", "state"} <= set(verb.result) else ()
    entry = fields.entry_of((*session, *verb.result), verb.type)
    envelope = _envelope(True, verb.type)
    return {
        "type": "object",
        "description": verb.help,
        "properties": {**envelope, **entry["properties"], "notices": fields.NOTICES},
        "required": [*envelope, *entry["required"]],
    }


def _brief(verb: Verb) -> dict[str, Any]:
    """Return the schema of an answer with `detail: brief`: some of the members of the full one."""
    names = brief.names(verb.type, tuple(name.removesuffix("?") for name in verb.result))
    properties: dict[str, Any] = {
        name: {"$ref": f"#/$defs/{verb.type}/properties/{name}"} for name in ("ok", "type", *names, "notices")
    }
    if verb.type == "list":
        properties["jobs"] = {
            **fields.OVERRIDES["jobs"]["list"],
            "items": fields.entry_of(brief.LIST_ENTRY, "list"),
        }
    always = [name for name, kept in names.items() if kept]
    return {
        "type": "object",
        "description": f"{verb.help} With detail brief: a member that says nothing is absent.",
        "properties": properties,
        "required": ["ok", "type", *always],
        "not": {"required": ["schema_version"]},
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
