"""Compute what Codex makes of a tool's input schema, and how many bytes that has.

Codex normalises the schema, and where the result has more than 5,000 bytes of compact JSON it drops every description.
The rules are those of openai/codex, codex-rs/tools/src/json_schema.rs (`sanitize_json_schema`), json_schema/types.rs
(`JsonSchema`: the keywords that are kept, in this order) and json_schema/compaction.rs
(`DEFAULT_COMPACT_TOOL_SCHEMA_BYTES`), at 0.169. Our schemas have no $ref, oneOf and allOf.
"""

from __future__ import annotations

import json
from typing import Any

BUDGET = 5_000
_OBJECT = ("properties", "required", "additionalProperties")
_ARRAY = ("items", "prefixItems")
_NUMBER = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


def normalised(schema: Any) -> dict[str, Any]:
    """Return the schema as Codex sends it to its model, as long as it is within the budget."""
    if isinstance(schema, bool):
        return {"type": "string"}
    if "const" in schema:
        schema = {**schema, "enum": [schema["const"]]}
    kind = schema.get("type") or _inferred(schema)
    if kind is None and "anyOf" not in schema:
        return {}  # a description alone is dropped
    kept: dict[str, Any] = {"type": kind} if kind else {}
    kept |= {name: schema[name] for name in ("description", "enum") if name in schema}
    if "items" in schema or kind == "array":
        kept["items"] = normalised(schema.get("items", True))
    if "properties" in schema or kind == "object":
        kept["properties"] = {name: normalised(one) for name, one in sorted(schema.get("properties", {}).items())}
    if "required" in schema:
        kept["required"] = schema["required"]
    if "additionalProperties" in schema:
        more = schema["additionalProperties"]
        kept["additionalProperties"] = more if isinstance(more, bool) else normalised(more)
    if "anyOf" in schema:
        kept["anyOf"] = [normalised(one) for one in schema["anyOf"]]
    return kept


def _inferred(schema: dict[str, Any]) -> str | None:
    if "anyOf" in schema:
        return None
    hints = {"object": _OBJECT, "array": _ARRAY, "string": ("enum", "format"), "number": _NUMBER}
    return next((kind for kind, names in hints.items() if any(name in schema for name in names)), None)


def size(schema: Any) -> int:
    """Return the bytes of a value as compact JSON."""
    return len(json.dumps(schema, separators=(",", ":"), ensure_ascii=False).encode())
