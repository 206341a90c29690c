"""Kinds of fields: short ways to write their JSON Schema."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]


def of(kind: str | list[str], text: str, **more: Any) -> Schema:
    return {"type": kind, "description": text, **more}


def string(text: str, **more: Any) -> Schema:
    return of("string", text, **more)


def maybe_string(text: str, **more: Any) -> Schema:
    return of(["string", "null"], text, **more)


def count(text: str) -> Schema:
    return of("integer", text, minimum=0)


def maybe_count(text: str) -> Schema:
    return of(["integer", "null"], text, minimum=0)


def flag(text: str) -> Schema:
    return of("boolean", text)


def strings(text: str) -> Schema:
    return of("array", text, items={"type": "string"})


def object_of(text: str, required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    return {
        "type": "object",
        "description": text,
        "properties": {**required, **(optional or {})},
        "required": list(required),
    }
