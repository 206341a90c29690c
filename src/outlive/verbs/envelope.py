"""The envelope: the object around every answer, in the size that the caller asked for, and its bytes. Both faces use it.

A brief answer has the members of the full one that an agent acts on, as their fields say (answers/__init__.py)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from outlive import verbs
from outlive.answers import ALWAYS, EVEN_FALSE, FULL_ONLY, LAST, READABLE, Answer, Field, Fields, advice
from outlive.core.members import text_of
from outlive.core.started import never_ran
from outlive.core.units import duration, size
from outlive.errors import OutliveError
from outlive.jobs.context import Context
from outlive.limits import SCHEMA_VERSION
from outlive.render.events import word
from outlive.render.plain_text import readable
from outlive.verbs.spec import BRIEF, FULL

_HEAD = ("schema_version", "ok", "type")  # the first members of every answer


def full(
    type: str,
    answer: Answer,
    call: Context | None = None,
    *,
    titles: bool = True,
    report: Mapping[str, object] = MappingProxyType({}),
) -> dict[str, object]:
    """Return the object of an answer, with all its members; `sized` puts them in order. `call` adds what it has to say to
    the hint, with `titles` also which job a title named. `report`: how long the call was allowed to wait."""
    members: dict[str, object] = {"schema_version": SCHEMA_VERSION, "ok": True, "type": type}
    answer.write_into(members)
    members |= report
    if call is not None:
        advice.say(members, call.said(members.get("job_id"), titles=titles))
    members |= _as_session(members)
    return members


def answer(type: str, members: Mapping[str, object]) -> dict[str, object]:
    """Return the full answer with these members."""
    made = {"schema_version": SCHEMA_VERSION, "ok": True, "type": type, **members}
    made |= _as_session(made)
    return sized(made, FULL)


def sized(full: dict[str, object], detail: str) -> dict[str, object]:
    """Return a full answer in the size that the call asked for, its members in their order. An error has one size."""
    if not full["ok"]:
        return full
    record = verbs.record_of(str(full["type"]))
    fields, (first, last) = (record.flat(), record.ends()) if record else ({}, ([], []))
    between = [name for name in full if name not in _HEAD and name not in first and name not in last]
    names = [name for name in (*_HEAD, *first, *between, *last) if name in full]
    return brief(full, fields, names) if detail == BRIEF else {name: full[name] for name in names}


def _as_session(full: dict[str, object]) -> dict[str, str]:
    """Return the job as a session, which is what agents that know OpenClaw's `process` look for."""
    state = full.get("state")
    if state is None or "job_id" not in full:
        return {}
    by_itself = state == "exited" and full.get("reason") in (None, "exit", "kill")
    status = state if state in ("created", "running", "unknown") else "completed" if by_itself else "failed"
    return {"sessionId": str(full["job_id"]), "status": status}


def failure(error: OutliveError) -> dict[str, object]:
    return {"schema_version": SCHEMA_VERSION, "ok": False, "type": "error", "error": error.to_dict()}


def encoded(envelope: dict[str, object]) -> bytes:
    """Return the envelope as one line of UTF-8 JSON, without the newline."""
    how: Any = {"allow_nan": False, "separators": (",", ":")}
    try:
        return json.dumps(envelope, ensure_ascii=False, **how).encode("utf-8")
    except UnicodeEncodeError:
        # A path or argument that is no UTF-8 holds lone surrogates here; as \udcXX they are valid
        # JSON.
        return json.dumps(envelope, ensure_ascii=True, **how).encode("ascii")


_NOTHING: tuple[object, ...] = ("", [], {})
_ADDED = Field("", {})  # what a face adds to any answer: notices, how long a call was allowed to wait


def brief(
    answered: Mapping[str, object], fields: Mapping[str, Field], names: Iterable[str] | None = None
) -> dict[str, object]:
    """Return the brief form of a full answer with these fields: members that say nothing are absent. `names`: of its
    members, in their order."""
    answer: dict[str, object] = {}
    meant: dict[str, object] = {}  # false, which says something here: a password is asked for; its host is out of reach
    for name in answered if names is None else names:
        value, field = answered[name], fields.get(name, _ADDED)
        if meant and field.place == LAST:
            answer |= meant
        if field.brief == FULL_ONLY or name == "schema_version":
            continue
        if field.brief == ALWAYS or _says_something(value):
            answer[name] = _shortened(value, field)
        elif field.brief == EVEN_FALSE and value is False:
            meant[name] = value
    is_kill, state = answered["type"] == "kill", str(answered.get("state"))
    if answered.get("already_ended") or (
        is_kill and never_ran(state, text_of(answered, "reason"))
    ):  # the signal that was asked for, and not sent
        answer.pop("signal", None)
    return answer | meant


def brief_entry(entry: dict[str, object], record: type[Fields]) -> dict[str, object]:
    """Return the brief form of an entry of a list: some of its members, in an order of their own."""
    fields = record.flat()
    return {
        name: _shortened(entry[name], fields[name])
        for name in record.BRIEF + (record.BRIEF_OF_OTHERS if entry.get("others") else ())
        if _says_something(entry.get(name)) or (fields[name].brief == EVEN_FALSE and entry.get(name) is False)
    }


def besides(answer: Mapping[str, object], fields: Mapping[str, Field], told: Collection[str]) -> dict[str, str]:
    """Return in words, by their names without a unit, what no sentence of a face says of a brief answer: so a field that
    is new shows in every face. `told`: what sentences say."""
    shown = fields.keys() - {*told, "hint"}
    return dict(_in_words(name, value) for name, value in answer.items() if name in shown)


def _in_words(name: str, value: object) -> tuple[str, str]:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if name.endswith("_ms"):
            return name.removesuffix("_ms"), duration(value)
        if name.endswith("_bytes"):
            return name.removesuffix("_bytes"), size(value)
    return name, word(value)


def _shortened(value: Any, field: Field) -> object:
    if field.brief == READABLE:
        return readable(value)
    if "entry" in field.how:
        return [brief_entry(one, field.how["entry"]) for one in value]
    if "without" in field.how:
        return {name: one for name, one in value.items() if name not in field.how["without"]}
    return value


def _says_something(value: object) -> bool:
    return value is not None and value is not False and value not in _NOTHING
