"""Kinds of fields: short ways to write their JSON Schema."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]


def _of(kind: str | list[str], text: str, **more: Any) -> Schema:
    return {"type": kind, "description": text, **more}


def _string(text: str, **more: Any) -> Schema:
    return _of("string", text, **more)


def _maybe_string(text: str, **more: Any) -> Schema:
    return _of(["string", "null"], text, **more)


def _count(text: str) -> Schema:
    return _of("integer", text, minimum=0)


def _maybe_count(text: str) -> Schema:
    return _of(["integer", "null"], text, minimum=0)


def _flag(text: str) -> Schema:
    return _of("boolean", text)


def _strings(text: str) -> Schema:
    return _of("array", text, items={"type": "string"})


def _object(text: str, required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    return {
        "type": "object",
        "description": text,
        "properties": {**required, **(optional or {})},
        "required": list(required),
    }
