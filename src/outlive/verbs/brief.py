"""Brief answers: of a full answer the members that an agent acts on, as their fields say (answers/__init__.py)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from outlive.answers import ALWAYS, EVEN_FALSE, FULL_ONLY, LAST, READABLE, Field, Part
from outlive.core.members import text_of
from outlive.core.started import never_ran
from outlive.core.units import duration, size
from outlive.render.events import word
from outlive.render.plain_text import readable

# What every face says of a job by sentences and columns of its own: of an answer of status, and in a row of a list.
# descendants, errno and keyboard are in a hint
OF_STATUS = frozenset(
    "job_id state exit_code signal reason message ended_by errno pid name command tags owner waiting_for_input prompt echo keyboard "
    "approval tests report_problem idle_ms stdout_bytes stderr_bytes descendants notification previous".split()
)
OF_A_ROW = frozenset(
    "job_id state exit_code signal reason name descendants waiting_for_input started_at last_line message approval supervisor_pid "
    "others owner session cwd".split()
)
_NOTHING: tuple[object, ...] = ("", [], {})
_ADDED = Field("", {})  # what a face adds to any answer: notices, how long a call was allowed to wait


def of(
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


def of_entry(entry: dict[str, object], record: type[Part]) -> dict[str, object]:
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
        return [of_entry(one, field.how["entry"]) for one in value]
    if "without" in field.how:
        return {name: one for name, one in value.items() if name not in field.how["without"]}
    return value


def _says_something(value: object) -> bool:
    return value is not None and value is not False and value not in _NOTHING
