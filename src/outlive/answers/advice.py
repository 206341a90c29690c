"""What an answer says about a job besides its state and its output: facts, each of a kind, in one order.

`hint` has them as one text, `advice` one by one. A face that words a fact otherwise, or leaves it out, goes by its kind
and its members: no code looks into a sentence. Every call loads this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from outlive.answers import FULL_ONLY, HIDDEN, Fields, field, optional, sentences
from outlive.core.ids import short_id
from outlive.core.members import entries_of

# The kinds, in the order in which an answer gives them
LEFT = "left_running"  # processes of an ended job
CALL = "call"  # what the call named: a job of another session, a title that several have
WRITTEN = "written"  # what became of a text that this call wrote
PLAN = "plan"  # what the call asked for and was done otherwise
PART = "part"  # it was made with a part of outlive that is not installed
REPORT = "report"  # its test report
LOST = "lost_output"
RESOURCES = "not_limited"
CONDITION = "condition"  # of a wait, where the rest of the answer may mislead
SUPERVISOR = "stopped_supervisor"
KEYBOARD = "keyboard"  # a person types
INPUT = "input"  # it asks for input, or wants a person
APPROVAL = "approval"
WAITS = "waits_for"  # what it waits for before it starts
ELSEWHERE = "elsewhere"  # on another machine
OWN_WORDS = "own_words"  # it finds its own shell where it looks for processes
SILENCE = "silence"
CAUSE = "cause"  # why it may have failed
EXIT_CODE = "exit_code"  # whose code it is
SANDBOX = "sandbox"
SHELL = "shell"  # which one ran a command that may be written for another
ENCODING = "encoding"
NEXT = "next_step"
STILL = "still_running"  # nothing else is known: a face that offers the calls otherwise leaves it out
ORDER = (
    LEFT, CALL, WRITTEN, PLAN, PART, REPORT, LOST, RESOURCES, CONDITION, SUPERVISOR, KEYBOARD, INPUT, APPROVAL, WAITS,
    ELSEWHERE, OWN_WORDS, SILENCE, CAUSE, EXIT_CODE, SANDBOX, SHELL, ENCODING, NEXT, STILL,
)  # fmt: skip


class Advice(Fields):
    """One fact about the job, and what to do about it."""

    kind: str = field("What it is about.", enum=[*ORDER])
    text: str = field("What `hint` says of it.")
    job_id: str | None = optional("Of left_running: the job that started what is left.")
    processes: int | None = optional("Of left_running: how many processes are alive.")
    silent_ms: int | None = optional("Of silence: how long nothing was printed.")
    foreground: list[str] | None = optional("Of silence: the names from its command to the process in the foreground.")
    listens_on: list[int] | None = optional("Of silence: the ports of a server, which does not end by itself.")
    deadlock: bool | None = optional("Of silence: its processes wait for each other, so it does not end by itself.")
    supervisor_pid: int | None = optional("Of stopped_supervisor: its pid.", minimum=None)


class Advised(Fields):
    """What an answer says about a job besides its state and its output, as one text and fact by fact, in their order."""

    hint: str | None = optional("What to do next.", human=HIDDEN)
    advice: list[Advice] | None = optional(
        "What `hint` says, one fact after the other, each of a kind.", brief=FULL_ONLY, human=HIDDEN
    )

    @classmethod
    def made_of(cls, found: Iterable[Advice]) -> Self:
        known: list[Advice] = []
        for one in sorted(found, key=lambda one: ORDER.index(one.kind)):
            if not any(one.text in other.text for other in known):  # a condition and a cause may name the same port
                known.append(one)
        return cls(hint=sentences(*(one.text for one in known)), advice=known or None)

    def with_more(self, kind: str, text: str | None) -> Self:
        """Return this with one fact more, before others of its kind."""
        return self.made_of([*told(kind, text), *(self.advice or ())])


def told(kind: str, text: str | None, **facts: Any) -> list[Advice]:
    """Return the advice with this text; none if there is no text."""
    return [Advice(kind=kind, text=text, **facts)] if text else []


def left_running(job_id: str, count: int | None) -> list[Advice]:
    """Return that so many processes of an ended job go on; nothing if none does, or if that is not known."""
    return told(LEFT, _left(job_id, count), job_id=job_id, processes=count) if count else []


def _left(job_id: str, count: int, *, kill: bool = True) -> str:
    those, are, ends, their = (
        ("1 process", "is", "it", "its") if count == 1 else (f"{count} processes", "are", "them", "their")
    )
    what = f"{those} that job {short_id(job_id)} started {are} still alive"
    return f"{what}{f'; kill ends {ends}' if kill else ''}, and {their} output still arrives."


# --- of an answer as the faces have it -------------------------------------------------------------------------------


def of_kind(answer: Mapping[str, object], kind: str) -> dict[str, object]:
    """Return the advice of this kind that an answer has; {} if it has none."""
    return next((one for one in entries_of(answer, "advice") if one["kind"] == kind), {})


def say(answer: dict[str, object], said: Sequence[str]) -> None:
    """Have the answer say sentences about the call itself. Without advice they stand before its hint."""
    if not said:
        return
    if "advice" not in answer:
        answer["hint"] = " ".join([*said, *map(str, filter(None, [answer.get("hint")]))])
        return
    found: list[Mapping[str, object]] = [
        *entries_of(answer, "advice"),
        *({"kind": CALL, "text": text} for text in said),
    ]
    found.sort(key=lambda one: ORDER.index(str(one["kind"])))
    answer |= {"advice": found, "hint": _joined(found)}


def leave_out_kill(answer: dict[str, object]) -> None:
    """Have the answer not name `kill`, for a client that is not offered it."""
    found = [
        {**one, "text": _left(str(one["job_id"]), int(str(one["processes"])), kill=False)}
        if one["kind"] == LEFT
        else one
        for one in entries_of(answer, "advice")
    ]
    if found:
        answer |= {"advice": found, "hint": _joined(found)}


def for_model(answer: Mapping[str, object]) -> str:
    """Return the hint of an answer for a model: the line about a running job already names the calls."""
    found = entries_of(answer, "advice")
    return _joined([one for one in found if one["kind"] != STILL]) if found else str(answer.get("hint") or "")


def _joined(found: Iterable[Mapping[str, object]]) -> str:
    return " ".join(str(one["text"]) for one in found)
