"""Parse the conditions of a wait. All are checked before the wait begins.

A condition is a word (`exit`, `output`, `input`), an object ({"regex": "ready", "stream":
"stdout"}), or a word with a value (`regex=ready`, `port=127.0.0.1:8080`), which is the form of the
command line, and sometimes what a model sends. `port=8080 any` is {"port": 8080, "any": true}.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from outlive import limits
from outlive.core.labels import is_port_name
from outlive.core.members import parse_json
from outlive.core.nearest import letters_of, meant, nearest
from outlive.core.records import STREAMS
from outlive.core.units import duration_ms
from outlive.errors import OutliveError, invalid
from outlive.jobs.conditions.condition import Condition
from outlive.store.output.patterns import Pattern

WORDS = ("exit", "output", "input")
# name → what else its object may hold
OBJECTS: dict[str, tuple[str, ...]] = {
    "regex": ("stream",),
    "fail_regex": ("stream",),
    "port": ("host", "any"),
    "http": ("status", "any"),
    "file": (),
    "idle_ms": (),
}
NAMES = (*WORDS, *OBJECTS)
# What models and people write instead; the edit distance would lead from `text` to `exit`.
_MEANT = {
    "regex": "pattern contains text line match string log",
    "http": "url health",
    "port": "listen listening",
    "file": "path",
    "idle_ms": "quiet silence",
    "exit": "done finished completed ended state status exit_code",
    "input": "prompt stdin",
}


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
        raise invalid("until", f"{name} needs a value", hint=f"Write {name}=… , for example {_EXAMPLES[name]}.")
    more: dict[str, object] = {}
    if "any" in OBJECTS[name]:
        before, _, last = value.rpartition(" ")
        value, more = (before.rstrip(), {"any": True}) if last == "any" else (value, {})
    return _CHECKS[name](value, more)


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
        if key not in OBJECTS[name]:
            hint = meant(key, list(OBJECTS[name]), f"It takes: {', '.join((name, *OBJECTS[name]))}.")
            raise invalid("until", f"{name} has no {key!r}", hint=hint)
    return _CHECKS[name](value, more)


def _known(name: str) -> str | None:
    letters = letters_of(name)
    return {letters_of(known): known for known in NAMES}.get("idlems" if letters == "idle" else letters)


_WORD, _OBJECT = "word", "object"  # the two forms; a mistake is answered in its own


def _name(given: str, form: str = _WORD) -> str:
    known = _known(given)
    if known is None:
        near = _meant(given) or nearest(given, list(NAMES))
        if near is None:
            hint = _KNOWN if form == _WORD else f"For example {_object_of('regex')} or {_object_of('port')}."
        elif near in WORDS:
            hint = f"Did you mean {near}?" if form == _WORD else f'Did you mean "{near}", a word alone?'
        else:
            hint = f"Did you mean {_EXAMPLES[near] if form == _WORD else _object_of(near)}?"
        raise invalid("until", f"unknown condition {given!r}", hint=hint)
    return known


def _meant(name: str) -> str | None:
    return next((known for known, words in _MEANT.items() if name.lower() in words.split()), None)


_KNOWN = (
    f"Known: {', '.join(WORDS)}, regex=…, fail_regex=…, port=PORT, port=HOST:PORT, http=URL, file=PATH, idle=5s; "
    'or an object: {"regex": "ready"}.'
)
_EXAMPLES = {
    "regex": "regex=listening",
    "fail_regex": "fail_regex=ERROR",
    "port": "port=8080",
    "http": "http=http://127.0.0.1:8080/health",
    "file": "file=build/out.bin",
    "idle_ms": "idle=5s",
}


def _object_of(name: str) -> str:
    """Return the example as an object."""
    value = _EXAMPLES[name].partition("=")[2]
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


def _port(value: object, more: dict[str, object]) -> Condition:
    host = more.get("host")
    if isinstance(value, str):
        before, colon, digits = value.rpartition(":")
        if colon and before:
            host = before.strip("[]")
        value = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 9 else digits
    if isinstance(value, str) and is_port_name(value):
        return Condition("port", value, {"host": host, "any": _any(more)})
    if isinstance(value, float) and value.is_integer():  # some clients write every number so
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 65_535:
        raise invalid("until", f"a port is a number from 1 to 65535, not {value!r}")
    if host is not None and (not isinstance(host, str) or not host.strip() or "\0" in host):
        raise invalid("until", "host is a name or an address")
    return Condition("port", value, {"host": host, "any": _any(more)})


def _http(value: object, more: dict[str, object]) -> Condition:
    status = more.get("status")
    if isinstance(status, str) and status.isascii() and status.isdigit():
        status = int(status)
    if status is not None and (not isinstance(status, int) or isinstance(status, bool) or not 100 <= status <= 599):
        raise invalid("until", f"status is a number from 100 to 599, not {status!r}")
    try:
        parts = urlsplit(value if isinstance(value, str) else "")
        good = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good or any(ord(char) <= 32 for char in str(value)):
        raise invalid("until", f"http is a URL, not {value!r}", hint=f"For example {_EXAMPLES['http']}.")
    return Condition("http", value, {"status": status, "any": _any(more)})


def _any(more: dict[str, object]) -> bool:
    """Return whether anybody's listener will do, not the job's own alone."""
    anybody = more.get("any", False)
    if not isinstance(anybody, bool):
        raise invalid("until", f"any is true or false, not {anybody!r}")
    return anybody


def _file(value: object, _more: dict[str, object]) -> Condition:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise invalid("until", "file is a path (a string)")
    return Condition("file", os.path.expanduser(value))


def _idle(value: object, _more: dict[str, object]) -> Condition:
    if isinstance(value, str):
        try:
            value = duration_ms(value, "idle_ms")
        except OutliveError as error:
            raise invalid("until", error.message, hint=error.hint) from None
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 1 <= value <= limits.MAX_DURATION_MS:
        raise invalid("until", f"idle_ms is a number of milliseconds, at least 1, not {value!r}")
    return Condition("idle_ms", round(value))


_CHECKS: dict[str, Callable[[object, dict[str, object]], Condition]] = {
    "regex": _pattern("regex"),
    "fail_regex": _pattern("fail_regex"),
    "port": _port,
    "http": _http,
    "file": _file,
    "idle_ms": _idle,
}
