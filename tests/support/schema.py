"""Holding answers against the schema of the code, and the committed one of the seed.

`outlive.schema.json` is made from the code: `$defs/<type>` describes the answers whose `type` is <type>. It leaves
room for more fields, as a promise to callers must; tests want to know of every field that is not declared, so they
hold answers against a closed copy of it (a definition that says `additionalProperties` itself is left as it is).
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

from outlive.parts.schema.document import document

DIRECTORY = Path(__file__).parents[2] / "schema"
OWN = DIRECTORY / "outlive.schema.json"
SEED = DIRECTORY / "seed-v0.1.schema.json"
SEED_TYPES = {
    "error": "ErrorResponse",
    "run": "RunResponse",
    "status": "StatusResponse",
    "tail": "TailResponse",
    "wait": "WaitResponse",
    "kill": "KillResponse",
    "list": "ListResponse",
    "schema": "SchemaResponse",
}


def _is_timestamp(value: object) -> bool:
    # Stricter than RFC 3339: outlive promises UTC and milliseconds.
    return not isinstance(value, str) or re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", value) is not None


_formats = FormatChecker(formats=())
_formats.checks("date-time")(_is_timestamp)


def check_answer(answer: dict[str, Any]) -> None:
    """AssertionError, with every violation and where it is, unless both schemas agree with the answer."""
    kind = answer.get("type")
    assert isinstance(kind, str), f"an answer without type: {answer!r}"
    is_brief = answer.get("ok") is True and "schema_version" not in answer
    own = _own(f"{kind}_brief" if is_brief else kind)
    problems = [f"outlive.schema.json: {line}" for line in _problems(own, answer)]
    if kind in SEED_TYPES and not is_brief:
        # Of a call that starts a job the seed has no state `created`, in which a job waits for its start
        waits = answer.get("state") == "created" and kind not in ("status", "list")
        known = {**answer, "state": "running"} if waits else answer
        problems += [f"seed-v0.1.schema.json: {line}" for line in _problems(_seed(SEED_TYPES[kind]), known)]
    shown = json.dumps(answer, ensure_ascii=False)[:2000]
    assert not problems, "\n".join([f"the answer `{kind}` breaks its schema:", *problems, shown])


def seed_validator(definition: str) -> Draft202012Validator:
    """A validator for one definition of the seed, by name."""
    return _seed(definition)


@functools.cache
def load(path: Path) -> dict[str, Any]:
    """Return a committed schema. Do not change it: all callers get the same object."""
    assert path.exists(), f"{path} is missing: every answer is held against it"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """A copy in which an object may have the declared properties only."""
    found: dict[str, Any] = _closed(schema, shared=_parts_of_wholes(schema))
    return found


def _problems(validator: Draft202012Validator, answer: Any) -> list[str]:
    errors = sorted(validator.iter_errors(answer), key=lambda error: list(map(str, error.absolute_path)))
    return [f"at {error.json_path}: {error.message[:500]}" for error in errors]


@functools.cache
def _own(kind: str) -> Draft202012Validator:
    own = _closed_own()
    assert kind in own["$defs"], f"no definition of answers of type {kind!r} in {OWN.name}"
    return _validator(own, kind)


@functools.cache
def _closed_own() -> dict[str, Any]:
    return closed(own())


@functools.cache
def own() -> dict[str, Any]:
    """Return the schema of the code. Not the committed file: while that is out of date, one test says so. Do not change it."""
    return document()


@functools.cache
def _seed(definition: str) -> Draft202012Validator:
    return _validator(load(SEED), definition)


def _validator(document: dict[str, Any], definition: str) -> Draft202012Validator:
    schema = {"$schema": document["$schema"], "$defs": document["$defs"], "$ref": f"#/$defs/{definition}"}
    return Draft202012Validator(schema, format_checker=_formats)


_MAPS = ("$defs", "properties", "patternProperties", "dependentSchemas")
_WHOLE = ("items", "contains", "additionalProperties", "propertyNames", "unevaluatedItems")
_LISTS = ("prefixItems",)
_IN_PLACE = ("allOf", "anyOf", "oneOf")  # these describe the same object as the schema around them
_IN_PLACE_ONE = ("if", "then", "else", "not")


def _parts_of_wholes(node: Any) -> set[str]:
    """The definitions that some allOf uses as a part: closing one would forbid the other parts' properties."""
    found: set[str] = set()
    if isinstance(node, dict):
        found.update(part["$ref"] for part in node.get("allOf", ()) if isinstance(part, dict) and "$ref" in part)
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        found |= _parts_of_wholes(child)
    return found


def _closed(node: Any, *, shared: set[str], part: bool = False, where: str = "#") -> Any:
    if not isinstance(node, dict):
        return node
    copy: dict[str, Any] = {}
    for key, value in node.items():
        if key in _MAPS:
            copy[key] = {name: _closed(one, shared=shared, where=f"#/{key}/{name}") for name, one in value.items()}
        elif key in _WHOLE:
            copy[key] = _closed(value, shared=shared, where="")
        elif key in _LISTS:
            copy[key] = [_closed(one, shared=shared, where="") for one in value]
        elif key in _IN_PLACE:
            inside = part or "properties" in node or key == "allOf"
            copy[key] = [_closed(one, shared=shared, part=inside, where="") for one in value]
        elif key in _IN_PLACE_ONE:
            copy[key] = _closed(value, shared=shared, part=True, where="")
        else:
            copy[key] = value
    describes = "properties" in node or "allOf" in node
    settled = "additionalProperties" in node or "unevaluatedProperties" in node
    if describes and not settled and not part and where not in shared:
        # Means the same where nothing else describes the object, and looks at no property twice
        alone = node.keys().isdisjoint((*_IN_PLACE, "if", "then", "else", "$ref", "dependentSchemas"))
        copy["additionalProperties" if alone else "unevaluatedProperties"] = False
    return copy
