"""What is said of a job that waits for others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from outlive.answers import advice
from outlive.core.ids import short_id
from outlive.core.members import entries_of, text_of
from outlive.core.quoted import one_line
from outlive.core.started import has_begun
from outlive.core.units import counted, duration
from outlive.jobs.conditions.condition import AwaitedEnd
from outlive.part import Definition, Inspection, Look, Need, OfJob, Said, State
from outlive.parts.after import LAST, asked, checks
from outlive.parts.after.answers import Awaited, InList, Waits
from outlive.parts.after.asked import Edge


def edges(definition: Definition) -> list[Edge]:
    """Return what a job waits for; nothing if another program has spoilt that: a start of it is refused."""
    try:
        return asked.of_job(definition)
    except ValueError:
        return []


def _left(inspection: Inspection) -> list[Edge]:
    """Return what does not hold yet, of a job that has not started."""
    if inspection.state.state != "created":
        return []
    every = edges(inspection.definition)
    last = asked.last_of_chain(inspection.definition, inspection.state)
    whole = [] if last is None else [Edge(job=last, until=["start"])]
    return whole + [every[number] for number in asked.left(inspection.state, len(every))]


class Waiting(OfJob):
    def check(self) -> None:
        checks.require(self.definition)

    def facts(self) -> Iterable[tuple[str, str]]:
        return [("After", sentence(edge, json.dumps)) for edge in edges(self.definition)]

    def needs(self, state: State | None = None) -> Iterable[Need]:
        every = edges(self.definition)
        begun = state is not None and has_begun(state, self.definition.created_at)
        left = () if begun else range(len(every)) if state is None else asked.left(state, len(every))
        return [
            Need(edge.job, edge.name, "" if edge.exit == 0 else words(edge), holds=number not in left)
            for number, edge in enumerate(every)
        ]

    def ends(self) -> list[AwaitedEnd] | None:
        every = edges(self.definition)
        if self.definition.kept.get(LAST) or any(edge.exit is None and edge.until != ["exit"] for edge in every):
            return None
        return [AwaitedEnd(edge.job, edge.name, edge.exit) for edge in every]

    def described(self, look: Look) -> Said | None:
        left = _left(look.inspection)
        if not left:
            return None
        why = f"It has not started: it waits for {_listed(left)}."
        return Said(Waits(waiting_for=[_awaited(edge) for edge in left]), advice.told(advice.WAITS, why))

    def entry_of(self, inspection: Inspection) -> InList | None:
        left = _left(inspection)
        return InList(waiting_for=[sentence(edge) for edge in left]) if left else None


def why_not_started(answer: Mapping[str, object]) -> str:
    """Return for how many other jobs the job of an answer waits: the hint says for which, and for what."""
    others = {text_of(one, "job_id") for one in entries_of(answer, "waiting_for")}
    return f"it waits for {counted(len(others), 'job')}"


def of_chain(answer: Mapping[str, object], *, process: bool | None) -> list[str]:
    """Return a line for each job of a chain that an answer is about."""
    if answer.get("type") != "run":
        return []
    jobs = entries_of(answer, "jobs")
    each = [f"  {text_of(one, 'job_id')} ({text_of(one, 'name')}): {text_of(one, 'state')}" for one in jobs]
    return [f"It is the first of {counted(len(jobs), 'job')}:", *each]


def _awaited(edge: Edge) -> Awaited:
    return Awaited(job_id=edge.job, name=edge.name, condition=words(edge))


def _listed(left: list[Edge]) -> str:
    return "; and for ".join(map(sentence, left))


def words(edge: Edge) -> str:
    """Return the condition of an edge as the command line takes it; of several, any of them holds."""
    if edge.exit is not None:
        return f"exit={edge.exit}"
    return " or ".join(_word(one) for one in edge.until)


def _word(condition: object) -> str:
    if not isinstance(condition, dict):
        return str(condition)
    return condition_word(condition) or json.dumps(condition)


def condition_word(condition: Mapping[str, object]) -> str | None:
    """Return a condition that is an object of one member as a word; None for others."""
    if len(condition) != 1:
        return None
    (name, value), *_ = condition.items()
    return f"{name}={value}" if isinstance(value, (str, int)) else None


def sentence(edge: Edge, quoted: Callable[[str], str] | None = None) -> str:
    """Return which job an edge waits for, and for what: "job 7Q2JV1AB (npm build) to exit with 0". `quoted`: how texts stand in it
    that must not look like words of ours."""
    until = (_in_words(one, quoted or str) for one in edge.until)
    what = f"to exit with {edge.exit}" if edge.exit is not None else " or ".join(until)
    name = f" ({(quoted or one_line)(edge.name)})" if edge.name else ""
    return f"job {short_id(edge.job)}{name} {what}"


_WORDS = {"start": "to be started", "exit": "to end", "output": "to print something", "input": "to ask for input"}
_SENTENCES = {
    "regex": "to print a line that matches {}",
    "fail_regex": "to print a line that matches {}, which fails this one",
    "port": "to listen on port {}",
    "http": "to answer at {}",
    "file": "to make the file {}",
    "idle_ms": "to be silent for {}",
}


def _in_words(given: object, shown: Callable[[str], str]) -> str:
    members = given if isinstance(given, dict) else dict([str(given).partition("=")[::2]])
    name = next((name for name in ("idle", *_SENTENCES) if name in members), None)
    if name is None:
        return _WORDS.get(str(given)) or shown(str(given))
    value = members[name]
    if name == "idle" or (name == "idle_ms" and not isinstance(value, (int, float))):
        return _SENTENCES["idle_ms"].format(value)
    if name == "idle_ms":
        return _SENTENCES[name].format(duration(value))
    return _SENTENCES[name].format(shown(value) if isinstance(value, str) and not value.isdecimal() else value)
