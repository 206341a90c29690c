"""Convert a client's value to the argument's kind, or say what is wrong with it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from outlive import limits
from outlive.core.members import parse_json
from outlive.core.nearest import meant
from outlive.core.quoted import cut
from outlive.core.units import byte_count, duration_ms
from outlive.errors import OutliveError, argument, invalid
from outlive.verbs import spec
from outlive.verbs.spec import Arg

_LARGEST = 2**63 - 1  # what pread(2) and struct take
_SHOWN_CHARS = 60

_WANTED = {
    spec.STR: "a string",
    spec.RUN: "true or a string",
    spec.PATH: "a path (a string)",
    spec.INT: "a whole number",
    spec.FLOAT: "a number",
    spec.BOOL: "true or false",
    spec.STRS: "an array of strings",
    spec.ITEMS: "an array of strings and objects",
    spec.MS: "a whole number of milliseconds",
    spec.SECONDS: "a number of seconds",
    spec.BYTES: "a whole number of bytes",
    spec.ENV: "an object of strings",
    spec.OBJECT: "an object",
    spec.WORDS: "a shell string, or an array of strings (an argument vector)",
}
_LAX = ConfigDict(coerce_numbers_to_str=True)
_TEXT: TypeAdapter[str] = TypeAdapter(str, config=_LAX)
_TYPES: dict[str, TypeAdapter[Any]] = {
    spec.RUN: TypeAdapter(str | None, config=_LAX),
    spec.INT: TypeAdapter(int),
    spec.FLOAT: TypeAdapter(Annotated[float, Field(allow_inf_nan=False)]),
    spec.BOOL: TypeAdapter(bool),
    spec.STRS: TypeAdapter(list[str], config=_LAX),
    spec.ITEMS: TypeAdapter(list[str | dict[str, object]], config=_LAX),
    spec.OBJECT: TypeAdapter(dict[str, object], config=_LAX),
}
_DURATIONS = (spec.MS, spec.SECONDS)
_EXAMPLES = {
    **dict.fromkeys(_DURATIONS, "A string with a unit is taken as well: 500ms, 5s, 30m."),
    spec.BYTES: "A string with a unit is taken as well: 64K, 500M, 2G.",
    spec.ENV: '{0}={{"NAME": "value"}}',
    spec.STRS: '{0}=["one", "two"]',
    spec.ITEMS: '{0}=["text", {{"name": "value"}}]',
    spec.WORDS: '{0}="make test"',
}
_EXAMPLES_OF = {
    "job_id": '{0}="01J9ABCD"',
    "until": '{0}=["exit", {{"regex": "ready"}}]',
    "tags": '{0}=["project.build"]',
    "resources": '{0}={{"memory": "2G", "cpu_time": "10m"}}',
    "watch": '{0}=["ERROR", {{"pattern": "ready", "once": true}}]',
}


def checked(arg: Arg, value: object) -> object:
    """Return the value of an argument as its kind. Errors: invalid_argument."""
    convert = _CONVERTERS.get(arg.kind)
    converted = convert(arg, value) if convert else _typed(arg, value, value)
    return _chosen(arg, converted) if arg.choices else converted


def _typed(arg: Arg, value: object, decoded: object) -> Any:
    """Return what pydantic makes of what was decoded from a value."""
    try:
        return _TYPES.get(arg.kind, _TEXT).validate_python(decoded)
    except ValidationError:
        raise wrong_kind(arg, value) from None  # pydantic's text would repeat the value, which may be a secret


# --- errors --------------------------------------------------------------------------------------------------------


def wrong_kind(arg: Arg, value: object) -> OutliveError:
    """Return the error "timeout_ms must be a whole number of milliseconds, got 'abc'"."""
    got = "" if arg.kind == spec.ENV else f", got {_short(value)}"  # values of variables may be secrets
    return invalid(arg.name, f"{argument(arg.name)} must be {_WANTED[arg.kind]}{got}", hint=example(arg))


def example(arg: Arg) -> str | None:
    """Return the right form of an argument's value, where the name alone does not show it."""
    form = _EXAMPLES_OF.get(arg.mcp) or _EXAMPLES.get(arg.kind)
    if form is None:
        return None
    return form if "{" not in form else f"For example {form.format(argument(arg.name))}."


def out_of_bounds(arg: Arg, value: object, *, least: float | None = None, most: float = 0) -> OutliveError:
    bound = f"most {most:,}" if least is None else f"least {least:,}"
    message = f"{argument(arg.name)} must be at {bound.removesuffix('.0')}, got {_short(value)}"
    return invalid(arg.name, message, hint=None if least is None else spec.zero_means(arg))


def _short(value: object) -> str:
    return cut(repr(value), _SHOWN_CHARS)


# --- kinds ---------------------------------------------------------------------------------------------------------


def _chosen(arg: Arg, value: object) -> object:
    if value in arg.choices:
        return value
    same = [choice for choice in arg.choices if choice.lower() == str(value).lower()]
    if same:
        return same[0]
    known = ", ".join(arg.choices)
    hint = meant(str(value), list(arg.choices), "") or None
    raise invalid(arg.name, f"{argument(arg.name)} must be one of {known}; got {_short(value)}", hint=hint)


def _run(arg: Arg, value: object) -> object:
    """Return what true and false, also as texts, mean for a run: the one before, and none."""
    text = str(value).lower() if isinstance(value, (bool, str)) else ""
    if text in ("true", "false"):
        return "previous" if text == "true" else None
    return _typed(arg, value, value)


def _number(arg: Arg, value: object) -> object:
    if isinstance(value, bool):  # for Python, true is the number 1
        raise wrong_kind(arg, value)
    number = _typed(arg, value, value)
    least = -_LARGEST if arg.minimum is None else arg.minimum
    most = _LARGEST if arg.maximum is None else arg.maximum
    if number < least:
        raise out_of_bounds(arg, value, least=least)
    if number > most:
        raise out_of_bounds(arg, value, most=most)
    return number


def _milliseconds(arg: Arg, value: object) -> int:
    unit = 1 if arg.kind == spec.MS else 1000
    if isinstance(value, str):
        try:
            ms = float(duration_ms(value.strip().removeprefix("+"), arg.mcp, bare_unit="ms" if unit == 1 else "s"))
        except OutliveError:
            raise wrong_kind(arg, value) from None
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        if isinstance(value, float) and not math.isfinite(value):
            raise wrong_kind(arg, value)
        ms = min(value, 10**18) * unit
    else:
        raise wrong_kind(arg, value)
    if ms < (arg.minimum or 0) * unit:
        raise out_of_bounds(arg, value, least=arg.minimum or 0)
    if arg.maximum is not None and ms > arg.maximum * unit:
        raise out_of_bounds(arg, value, most=arg.maximum)
    if ms > limits.MAX_DURATION_MS:
        raise invalid(arg.name, f"{argument(arg.name)} is longer than ten years: {_short(value)}")
    # A duration rounded down to 0 would mean "no timeout"
    return max(1, round(ms)) if ms > 0 else 0


def _bytes(arg: Arg, value: object) -> int:
    if isinstance(value, str):
        try:
            return byte_count(value, arg.mcp)
        except OutliveError:
            raise wrong_kind(arg, value) from None
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or value != value // 1
        or not 0 <= value <= limits.MAX_QUOTA_BYTES
    ):
        raise wrong_kind(arg, value)
    return int(value)


def _decoded(value: object, kind: type) -> object:
    """Return the array or object in a string of JSON, as some clients send it; else the value itself."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            decoded = parse_json(value)
        except ValueError:
            return value
        if isinstance(decoded, kind):
            return decoded
    return value


def _listed(arg: Arg, value: object) -> object:
    """Return an array, also for one of its items alone."""
    decoded = _decoded(value, list)
    alone = (str, dict) if arg.kind == spec.ITEMS else (str, int, float)
    is_alone = isinstance(decoded, alone) and not isinstance(decoded, bool)
    return _typed(arg, value, [decoded] if is_alone else decoded)


def _object(arg: Arg, value: object) -> object:
    return _typed(arg, value, _decoded(value, dict))


def _variables(arg: Arg, value: object) -> dict[str, str]:
    decoded = _decoded(value, dict)
    if not isinstance(decoded, dict):
        raise wrong_kind(arg, value)
    for name in decoded:
        if not isinstance(name, str) or not name or "=" in name:
            raise invalid(arg.name, f"{argument(arg.name)}: {_short(name)} cannot be the name of a variable")
    return {name: _variable(arg, name, text) for name, text in decoded.items()}


def _variable(arg: Arg, name: str, value: object) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return json.dumps(value)
    if not isinstance(value, str):
        hint = 'Write the text the program is to see, for example "1" or "true".'
        raise invalid(arg.name, f"{argument(arg.name)}.{name} must be a string", hint=hint)
    return value


def _words(arg: Arg, value: object) -> str | list[str]:
    """Return the value as given: a string for the shell, or an argument vector, even of one word."""
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise wrong_kind(arg, value)
    return value if isinstance(value, str) else words


_CONVERTERS: dict[str, Callable[[Arg, object], object]] = {
    spec.RUN: _run,
    spec.INT: _number,
    spec.FLOAT: _number,
    spec.MS: _milliseconds,
    spec.SECONDS: _milliseconds,
    spec.BYTES: _bytes,
    spec.STRS: _listed,
    spec.ITEMS: _listed,
    spec.ENV: _variables,
    spec.OBJECT: _object,
    spec.WORDS: _words,
}
