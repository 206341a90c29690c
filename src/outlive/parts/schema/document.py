"""Make the JSON Schema of every answer, from the records of `answers`."""

from __future__ import annotations

import types
import typing
from typing import Any

from outlive import limits, verbs
from outlive.answers import ALWAYS, FULL_ONLY, Answer, Field, Fields, output, shapes
from outlive.answers.reading import Added
from outlive.errors import CODES
from outlive.verbs.spec import Verb

CHANGED = "2026-12-01T02:41:36.000Z"  # when this schema last changed; scripts/answer_schema.py sets it
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}
_NULL = type(None)
# The records name these for the type checker alone
_NAMES = {**vars(shapes), **vars(output), "Any": typing.Any, "ClassVar": typing.ClassVar, "Literal": typing.Literal}


def document() -> dict[str, Any]:
    """Return the content of `schema/outlive.schema.json`."""
    answering = [verb for verb in map(verbs.load, verbs.names()) if verb.result]
    kinds = {verb.type: _answer(verb) for verb in answering}
    briefs = {f"{verb.type}_brief": _brief(verb) for verb in answering if verb.right}
    shared: dict[str, Any] = {}
    definitions = {**dict(sorted((kinds | briefs).items())), "error": _error()}
    answers = _with_references(definitions, shared)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": CHANGED,
        "title": "outlive answers",
        "description": "Every answer of outlive: of the CLI on stdout, and of MCP as structuredContent.",
        "$defs": {**answers, **dict(sorted(shared.items()))},
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in definitions],
    }


def _with_references(node: Any, shared: dict[str, Any]) -> Any:
    """Return the schema with a reference in place of each object that a record describes; these are added to `shared`."""
    if isinstance(node, list):
        return [_with_references(one, shared) for one in node]
    if not isinstance(node, dict):
        return node
    made = {name: _with_references(one, shared) for name, one in node.items()}
    name = made.pop("title", None) if isinstance(node.get("title"), str) else None
    if name is None:
        return made
    own = {key: made.pop(key) for key in ("description",) if key in made}
    nullable = isinstance(made["type"], list)
    described = {**made, "type": "object"}
    if shared.setdefault(name, described) != described:  # another record of this name, or one with more said about it
        return made | own
    reference = {"$ref": f"#/$defs/{name}"}
    return own | ({"anyOf": [reference, {"type": "null"}]} if nullable else reference)


def members(record: type[Fields]) -> dict[str, tuple[dict[str, Any], bool]]:
    """Return the schema of each member that the record has in the JSON, and whether it is always there."""
    hints = typing.get_type_hints(record, localns=_NAMES, include_extras=True)
    known: dict[str, tuple[dict[str, Any], bool]] = {}
    for name, field in record.DECLARED.items():
        inlined = field.inlined
        if inlined is None:
            own = {name: (_of_field(field, hints.get(name, str)), not field.optional)}
        else:
            may_lack = _NULL in typing.get_args(hints[name])
            own = {inner: (one, always and not may_lack) for inner, (one, always) in members(inlined).items()}
        for inner, (one, always) in own.items():
            # A part that may be absent takes nothing from a field that is always there
            known[inner] = one, always or (inner in known and known[inner][1])
    return {name: known[name] for name in record.flat()}


def object_of(record: type[Fields], description: str = "") -> dict[str, Any]:
    """Return the schema of an object that a record describes."""
    known = members(record)
    made = {
        "type": "object",
        "properties": {
            **{name: one for name, (one, _) in known.items()},
            **record.SCHEMA.get("properties", {}),
        },
        "required": [name for name, (_, always) in known.items() if always],
        **{name: value for name, value in record.SCHEMA.items() if name != "properties"},
    }
    return _described(made, description or vars(record).get("__doc__") or "")


def _described(made: dict[str, Any], description: str) -> dict[str, Any]:
    return made | ({"description": " ".join(description.split())} if description else {})


def _of_field(field: Field, hint: Any) -> dict[str, Any]:
    choices = [*typing.get_args(hint)] if typing.get_origin(hint) in (types.UnionType, typing.Union) else [hint]
    nullable = _NULL in choices and not field.hides_null
    choices = [choice for choice in choices if choice is not _NULL]
    if len(choices) > 1:  # Cut | Literal[False]
        return _described({"anyOf": [_of_type(choice) for choice in reversed(choices)]}, field.help)
    made = _of_type(choices[0]) | field.schema
    if nullable:
        made["type"] = [made["type"], "null"]
    if made.get("minimum", 0) is None:
        del made["minimum"]
    return _described(made, field.help)


def _of_type(hint: Any) -> dict[str, Any]:
    if hint in (typing.Any, object):
        return {}
    origin = typing.get_origin(hint) or hint
    if origin is typing.Annotated:  # answers/shapes.py
        return _named(hint.__metadata__[0])
    if origin is typing.Literal:
        return {"const": typing.get_args(hint)[0]}
    if isinstance(origin, type) and issubclass(origin, Fields):
        return _named(origin)
    made: dict[str, Any] = {"type": _TYPES[origin]}
    if origin is int:
        made["minimum"] = 0
    elif origin is list:
        made["items"] = _of_items(typing.get_args(hint)[0])
    elif origin is dict and (values := _of_items(typing.get_args(hint)[1])):
        made["additionalProperties"] = values
    return made


def _named(record: type[Fields]) -> dict[str, Any]:
    return {"title": record.__name__.removeprefix("_"), **object_of(record)}


def _of_items(hint: Any) -> dict[str, Any]:
    of = [one for one in typing.get_args(hint) if one is not _NULL] if isinstance(hint, types.UnionType) else [hint]
    made = _of_type(of[0])
    return made | {"type": [made["type"], "null"]} if of != [hint] else made


def _envelope(ok: bool, type_: str) -> dict[str, Any]:
    return {
        "schema_version": {"const": limits.SCHEMA_VERSION},
        "ok": {"const": ok},
        "type": {"const": type_},
    }


def _added() -> dict[str, Any]:
    return {name: one for name, (one, _) in members(Added).items()}


def _answer(verb: Verb) -> dict[str, Any]:
    assert verb.result is not None
    made = object_of(verb.result, verb.help)
    envelope = _envelope(True, verb.type)
    return made | {
        "properties": {**envelope, **made["properties"], **_added()},
        "required": [*envelope, *made["required"]],
    }


def _brief(verb: Verb) -> dict[str, Any]:
    """Return the schema of an answer with `detail: brief`: some of the members of the full one."""
    assert verb.result is not None
    names = {name: field for name, field in verb.result.flat().items() if field.brief != FULL_ONLY}
    properties: dict[str, Any] = {
        name: {"$ref": f"#/$defs/{verb.type}/properties/{name}"} for name in ("ok", "type", *names, *Added.FIELDS)
    }
    always = [name for name, field in names.items() if field.brief == ALWAYS]
    for name in always:
        if "entry" in names[name].how:
            properties[name] = _of_brief_list(verb.result, name, names[name].how["entry"])
    return {
        "type": "object",
        "description": f"{verb.help} With detail brief: a member that says nothing is absent.",
        "properties": properties,
        "required": ["ok", "type", *always],
        "not": {"required": ["schema_version"]},
    }


def _of_brief_list(answer: type[Answer], name: str, entry: type[Fields]) -> dict[str, Any]:
    """Return the schema of a list whose entries have the members that brief shows."""
    known = members(entry)
    items = {
        "type": "object",
        "properties": {one: known[one][0] for one in entry.BRIEF + entry.BRIEF_OF_OTHERS},
        "required": [one for one in entry.BRIEF if one in ("job_id", "state", "name")],
    }
    return members(answer)[name][0] | {"items": items}


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
        "properties": {**envelope, "error": detail, **_added()},
        "required": [*envelope, "error"],
    }
