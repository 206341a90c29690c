"""Parse the conditions of a wait. All are checked before the wait begins.

A condition is a word (`exit`, `output`, `input`), an object ({"regex": "ready", "stream":
"stdout"}), or a word with a value (`regex=ready`, `port=127.0.0.1:8080`), which is the form of the
command line, and sometimes what a model sends. `port=8080 any` is {"port": 8080, "any": true}.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from outlive import limits, parts
from outlive.core.members import parse_json
from outlive.core.nearest import letters_of, meant, nearest
from outlive.core.object_reference import resolve_name
from outlive.core.records import STREAMS, Definition
from outlive.core.units import duration_ms
from outlive.errors import OutliveError, invalid
from outlive.jobs.conditions.condition import Condition
from outlive.jobs.conditions.kind import Kind
from outlive.store.output.patterns import Pattern

WORDS = ("exit", "output", "input")
OBJECTS = ("regex", "fail_regex", "idle_ms", *parts.conditions())
NAMES = (*WORDS, *OBJECTS)
# What models and people write instead; the edit distance would lead from `text` to `exit`.
_MEANT = {"exit": "done finished completed ended state status exit_code", "input": "prompt stdin"}


def parsed(until: str | dict[str, object] | Iterable[object]) -> list[Condition]:
    """Return the conditions in the order given; `exit` if none is. Errors: invalid_argument."""
    given = [until] if isinstance(until, (str, dict)) else list(until)
    if len(given) > limits.MAX_CONDITIONS:
        raise invalid("until", f"{len(given)} conditions; at most {limits.MAX_CONDITIONS}")
    conditions = [_condition(one) for one in given]
    if conditions and all(
        one.name == "fail_regex" for one in conditions
    ):  # it only ends a wait for something else early
        conditions.append(Condition("exit"))
    return conditions or [Condition("exit")]


def _condition(given: object) -> Condition:
    if isinstance(given, dict):
        return _from_object(given)
    text = str(given).strip()
    if text in WORDS:
        return Condition(text)
    if text[:1] == "{":
        try:
            members = parse_json(text)
        except ValueError:
            raise invalid("until", f"not JSON: {text[:60]}") from None
        return _from_object(members)
    name, equals, value = text.partition("=")
    name = _name(name.strip())
    if name in WORDS:
        raise invalid("until", f"{name} takes no value", hint=f"Write {name} alone.")
    if not equals or not value:
        raise invalid("until", f"{name} needs a value", hint=f"Write {name}=… , for example {kind(name).example}.")
    more: dict[str, object] = {}
    if "any" in kind(name).more:
        before, _, last = value.rpartition(" ")
        value, more = (before.rstrip(), {"any": True}) if last == "any" else (value, {})
    return kind(name).check(value, more)


def _from_object(given: dict[str, object]) -> Condition:
    members = {name: value for name, value in given.items() if value is not None}
    names = [_known(name) for name in members if _known(name)]
    if len(names) != 1 or names[0] is None:
        if not names and members:
            _name(next((key for key in members if _meant(key)), next(iter(members))), _OBJECT)
        hint = "Give several conditions as several objects." if names else f"For example {_object_of('regex')}."
        raise invalid("until", f"a condition is an object with one of {', '.join(OBJECTS)}", hint=hint)
    name = names[0]
    if name in WORDS:
        return Condition(name)
    value = next(value for key, value in members.items() if _known(key) == name)
    more = {key: value for key, value in members.items() if _known(key) != name}
    for key in more:
        taken = kind(name).more
        if key not in taken:
            hint = meant(key, list(taken), f"It takes: {', '.join((name, *taken))}.")
            raise invalid("until", f"{name} has no {key!r}", hint=hint)
    return kind(name).check(value, more)


def _known(name: str) -> str | None:
    letters = letters_of(name)
    return {letters_of(known): known for known in NAMES}.get("idlems" if letters == "idle" else letters)


_WORD, _OBJECT = "word", "object"  # the two forms; a mistake is answered in its own
_SHOWN = ("regex", *parts.conditions())[:2]  # as examples


def _name(given: str, form: str = _WORD) -> str:
    known = _known(given)
    if known is None:
        near = _meant(given) or nearest(given, list(NAMES))
        if near is None:
            hint = _all_known() if form == _WORD else f"For example {' or '.join(map(_object_of, _SHOWN))}."
        elif near in WORDS:
            hint = f"Did you mean {near}?" if form == _WORD else f'Did you mean "{near}", a word alone?'
        else:
            hint = f"Did you mean {kind(near).example if form == _WORD else _object_of(near)}?"
        raise invalid("until", f"unknown condition {given!r}", hint=hint)
    return known


def _meant(name: str) -> str | None:
    words = {**_MEANT, **{known: kind(known).meant for known in OBJECTS}}
    return next((known for known, meant in words.items() if name.lower() in meant.split()), None)


def _all_known() -> str:
    forms = ", ".join(kind(name).forms for name in OBJECTS)
    return f'Known: {", ".join(WORDS)}, {forms}; or an object: {{"regex": "ready"}}.'


def _object_of(name: str) -> str:
    """Return the example as an object."""
    value = kind(name).example.partition("=")[2]
    return json.dumps({name: int(value) if value.isdigit() else 5000 if name == "idle_ms" else value})


# --- the check of each ----------------------------------------------------------------------------


def _pattern(name: str) -> Callable[[object, dict[str, object]], Condition]:
    def check(value: object, more: dict[str, object]) -> Condition:
        if not isinstance(value, str):
            raise invalid("until", f"{name} is an RE2 pattern (a string)")
        stream = more.get("stream", "both")
        if stream not in STREAMS:
            raise invalid("until", f"stream is one of {', '.join(STREAMS)}, not {stream!r}")
        return Condition(name, Pattern(value, field="until"), {"stream": stream})

    return check


def _idle(value: object, _more: dict[str, object]) -> Condition:
    if isinstance(value, str):
        try:
            value = duration_ms(value, "idle_ms")
        except OutliveError as error:
            raise invalid("until", error.message, hint=error.hint) from None
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 1 <= value <= limits.MAX_DURATION_MS:
        raise invalid("until", f"idle_ms is a number of milliseconds, at least 1, not {value!r}")
    return Condition("idle_ms", round(value))


_OF_OUTPUT: dict[str, Kind] = {
    "regex": Kind(
        more=("stream",),
        forms="regex=…",
        example="regex=listening",
        meant="pattern contains text line match string log",
        check=_pattern("regex"),
    ),
    "fail_regex": Kind(
        more=("stream",), forms="fail_regex=…", example="fail_regex=ERROR", check=_pattern("fail_regex")
    ),
    "idle_ms": Kind(forms="idle=5s", example="idle=5s", meant="quiet silence", check=_idle),
}


def kind(name: str) -> Kind:
    """Return what is known of the conditions of this name, which is one of OBJECTS."""
    if name in _OF_OUTPUT:
        return _OF_OUTPUT[name]
    found: Kind = resolve_name(parts.conditions()[name])
    return found


def require(definition: Definition, conditions: Iterable[Condition]) -> None:
    """Errors: invalid_argument for a condition that names something that this job has not."""
    for one in conditions:
        if one.name in OBJECTS:
            kind(one.name).require(definition, one)
