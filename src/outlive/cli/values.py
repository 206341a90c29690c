"""Convert one word of the command line to the value of an argument's kind.

Errors: invalid_argument with `usage` set. The message names the flag as typed, `details.field` the parameter."""

from __future__ import annotations

import os
from collections.abc import Callable

from outlive.core.nearest import meant
from outlive.core.units import byte_count, duration_ms
from outlive.errors import OutliveError, invalid
from outlive.verbs.spec import BYTES, ENV, FLOAT, INT, MS, OBJECT, PATH, RUN, SECONDS, WORDS, Arg, zero_means

_METAVARS = {
    INT: "N",
    FLOAT: "N",
    MS: "DURATION",
    BYTES: "SIZE",
    SECONDS: "SECONDS",
    RUN: "RUN",
    ENV: "NAME=VALUE",
    OBJECT: "NAME=VALUE",
    PATH: "PATH",
    WORDS: "COMMAND",
}


def metavar(arg: Arg) -> str:
    """Return what help and hints write in place of the value."""
    if arg.metavar:
        return arg.metavar
    return "|".join(arg.choices) if arg.choices else _METAVARS.get(BYTES if _is_size(arg) else arg.kind, "TEXT")


def _is_size(arg: Arg) -> bool:
    """Return whether sizes such as 64K are taken: for every number of bytes."""
    return arg.kind == BYTES or (arg.kind == INT and arg.name.endswith("_bytes"))


def checked(arg: Arg, text: str, cwd: str | None) -> object:
    """Return the value of one word, checked against the choices and bounds of the argument."""
    if arg.choices and text not in arg.choices:
        hint = meant(text, list(arg.choices), "") or None
        known = ", ".join(arg.choices)
        raise invalid(arg.name, f"{arg.cli} is one of {known}, not {text!r}", hint=hint, usage=True)
    if arg.kind == PATH:
        return _absolute(arg, text, cwd)
    read = _with_unit if _is_size(arg) else _NUMBERS.get(arg.kind)
    return _bounded(arg, read(arg, text), text) if read else text


def variable(arg: Arg, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        only = "; nothing is taken from the caller's environment by name" if arg.kind == ENV else ""
        hint = f"Write {arg.cli} {name}=VALUE{only}."
        raise invalid(arg.name, f"{arg.cli} {text} has no value", hint=hint, usage=True)
    if not name:
        raise invalid(arg.name, f"{arg.cli} {text!r} names nothing", hint="Write NAME=VALUE.", usage=True)
    return name, value


def _integer(arg: Arg, text: str) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    try:
        if digits.isascii() and digits.isdigit():  # int() alone would take " 5", "1_000" and other scripts' digits
            return int(text)
    except ValueError:  # more digits than int() converts
        pass
    raise invalid(arg.name, f"{arg.cli} is a whole number, not {text!r}", usage=True)


def _float(arg: Arg, text: str) -> float:
    try:
        number = float(text) if text.isascii() and "_" not in text else float("nan")
    except ValueError:
        number = float("nan")
    if not float("-inf") < number < float("inf"):  # nan is in no interval
        raise invalid(arg.name, f"{arg.cli} is a number, not {text!r}", usage=True)
    return number


def _with_unit(arg: Arg, text: str) -> int:
    try:
        return duration_ms(text, arg.cli) if arg.kind == MS else byte_count(text, arg.cli)
    except OutliveError as error:
        raise invalid(arg.name, error.message, hint=error.hint, usage=True) from None


def note_on_unit(arg: Arg, text: str) -> list[str]:
    """Return a sentence about a bare number below 1000 where timeout(1) and others count seconds."""
    if arg.cli not in _SECONDS_ELSEWHERE or not text.isdigit() or not 0 < int(text) < 1000:
        return []
    return [f"{arg.cli} {text} means {text} ms; {arg.cli} {text}s means {text} s."]


_SECONDS_ELSEWHERE = ("--timeout", "--idle-timeout", "--kill-after")


_NUMBERS: dict[str, Callable[[Arg, str], float]] = {
    INT: _integer,
    FLOAT: _float,
    SECONDS: _float,
    MS: _with_unit,
    BYTES: _with_unit,
}


def _bounded(arg: Arg, number: float, text: str) -> float:
    if arg.minimum is not None and number < arg.minimum:
        hint = zero_means(arg) if arg.minimum == 0 else None
        raise invalid(arg.name, f"{arg.cli} is at least {arg.minimum}, not {text}", hint=hint, usage=True)
    if arg.maximum is not None and number > arg.maximum:
        raise invalid(arg.name, f"{arg.cli} is at most {arg.maximum}, not {text}", usage=True)
    return number


def _absolute(arg: Arg, text: str, cwd: str | None) -> str:
    if not text:  # joined with the directory it would silently mean "here": --cwd "$UNSET"
        raise invalid(arg.name, f"{arg.cli} is an empty path", usage=True)
    if os.path.isabs(text):
        return os.path.normpath(text)
    if cwd is None:
        message = f"{arg.cli} {text} is relative, and the current directory no longer exists"
        raise invalid(arg.name, message, hint="Give an absolute path.", usage=True)
    return os.path.normpath(os.path.join(cwd, text))
