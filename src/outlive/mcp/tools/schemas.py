"""The schemas of the tools: JSON Schema 2020-12, made from the declarations of the verbs.

They are flat objects without $ref and without oneOf at the top, since not every client takes more,
and short, since every conversation pays for them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from outlive.core.records import STATES
from outlive.limits import SCHEMA_VERSION
from outlive.mcp.tools.arguments import offered
from outlive.mcp.tools.values import default_of
from outlive.verbs import spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from outlive.verbs.spec import Arg, Verb

_AS_IN_EXEC = "as in exec"
_TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
_TYPES: dict[str, dict[str, Any]] = {
    spec.STR: {"type": "string"},
    spec.PATH: {"type": "string"},
    spec.INT: {"type": "integer"},
    spec.MS: {"type": "integer"},
    spec.BYTES: {"type": "integer"},
    spec.FLOAT: {"type": "number"},
    spec.SECONDS: {"type": "number"},
    spec.BOOL: {"type": "boolean"},
    spec.STRS: _TEXTS,
    spec.ITEMS: {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "object"}]}},
    spec.ENV: {"type": "object", "additionalProperties": {"type": "string"}},
    spec.WORDS: {"anyOf": [{"type": "string"}, _TEXTS]},
}


def of_verb(verb: Verb, defaults: Mapping[str, Any], *, without: Iterable[str] = ()) -> dict[str, Any]:
    """Return the input schema of a tool that is one verb, without the arguments in `without`."""
    args = [arg for arg in offered(verb) if not arg.hidden and arg.mcp not in set(without)]
    properties = {arg.mcp: _property(arg, _whole(arg.help), defaults) for arg in args}
    return _object(properties, [arg.mcp for arg in args if arg.required])


def of_actions(verbs: Mapping[str, Verb], elsewhere: Verb | None) -> dict[str, Any]:
    """Return the input schema of a tool that is several verbs: `action`, and the union of their
    arguments.

    A description begins with the actions that take the argument. An argument that `elsewhere`, the
    verb of another tool, declares alike is not described again.
    """
    union: dict[str, list[tuple[str, Arg]]] = {}
    for action, verb in verbs.items():
        for arg in offered(verb):
            if not arg.hidden:
                union.setdefault(arg.mcp, []).append((action, arg))
    known = {(arg.mcp, arg.kind, arg.help) for arg in offered(elsewhere)} if elsewhere else set()
    properties: dict[str, Any] = {"action": {"type": "string", "enum": list(verbs)}}
    for name, users in union.items():
        properties[name] = _shared(name, users, len(verbs), known)
    return _object(properties, ["action"])


def _shared(name: str, users: list[tuple[str, Arg]], actions: int, known: set[tuple[str, str, str]]) -> dict[str, Any]:
    texts: dict[str, list[str]] = {}
    for action, arg in users:
        alike = (name, arg.kind, arg.help) in known
        texts.setdefault(_AS_IN_EXEC if alike else _sentence(arg.help), []).append(action)
    # A list of most actions says little
    parts = [text if len(takers) > actions // 2 else f"{' '.join(takers)}: {text}" for text, takers in texts.items()]
    kinds = {arg.kind for _, arg in users}
    if len(kinds) == 1 and len({arg.choices for _, arg in users}) == 1:
        return _property(users[0][1], "; ".join(parts), {}, bare=len(users) > 1 or _AS_IN_EXEC in texts)
    shape = _TYPES[spec.WORDS] if kinds == {spec.STR, spec.STRS} else {}  # one job; for wait also several
    return {**shape, "description": "; ".join(parts)}


def _property(arg: Arg, text: str, defaults: Mapping[str, Any], *, bare: bool = False) -> dict[str, Any]:
    """Return the schema of one argument. `bare` leaves out the default: several share it, or
    another tool tells it."""
    found = {**_TYPES[arg.kind], "description": text}
    if arg.choices:
        found["enum"] = list(arg.choices)
    if arg.minimum:
        found["minimum"] = arg.minimum
    default = defaults.get(arg.mcp, default_of(arg))
    if default and not bare:
        found["default"] = _seconds(default) if arg.kind == spec.SECONDS else default
    return found


def _seconds(ms: int) -> float:
    return ms // 1000 if ms % 1000 == 0 else ms / 1000


def _whole(text: str) -> str:
    """Return a help text without the sentences about the command line."""
    ours = re.sub(r"\s*\(CLI:[^)]*\)", "", text.strip())
    sentences = re.split(r"(?<=\.)\s", ours)
    return " ".join(sentence for sentence in sentences if not sentence.startswith("CLI")).rstrip(".")


def _sentence(text: str) -> str:
    """Return the first sentence of a help text: enough to choose; errors say the rest."""
    return re.split(r"(?<=[.;])\s", _whole(text), maxsplit=1)[0].rstrip(".;")


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": required} if required else found


def of_answer() -> dict[str, Any]:
    """Return the output schema of both tools: the fields that programs need most. `outlive
    schema` has all."""
    number, text = {"type": ["integer", "null"]}, {"type": ["string", "null"]}
    properties: dict[str, Any] = {
        "schema_version": {"const": SCHEMA_VERSION},
        "ok": {"type": "boolean"},
        "type": {"type": "string"},
        "job_id": {"type": "string"},
        "state": {"enum": list(STATES)},
        "output": {"type": "string"},
        "exit_code": number,
        "reason": text,
        "next_seq": number,
        "hint": text,
        "jobs": {"type": "array"},
        "error": {"type": "object", "required": ["code", "message", "retryable"]},
    }
    return {"type": "object", "properties": properties, "required": ["schema_version", "ok", "type"]}
