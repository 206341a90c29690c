"""What an answer says about a job besides its state and its output: facts, each of a kind, in one order.

Every call loads this module. findings.py finds the facts that few jobs have.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from outlive.answers import sentences
from outlive.core.ids import short_id

# The kinds, in the order in which an answer gives them
LEFT = "left_running"  # processes of an ended job
PLAN = "plan"  # what the call asked for and was done otherwise
REPORT = "report"  # its test report
LOST = "lost_output"
RESOURCES = "not_limited"
CONDITION = "condition"  # of a wait, where the rest of the answer may mislead
SUPERVISOR = "stopped_supervisor"
KEYBOARD = "keyboard"  # a person types
INPUT = "input"  # it asks for input, or wants a person
APPROVAL = "approval"
ELSEWHERE = "elsewhere"  # on another machine
OWN_WORDS = "own_words"  # it finds its own shell where it looks for processes
SILENCE = "silence"
CAUSE = "cause"  # why it may have failed
EXIT_CODE = "exit_code"  # whose code it is
SANDBOX = "sandbox"
SHELL = "shell"  # which one ran a command that may be written for another
ENCODING = "encoding"
NEXT = "next_step"  # last: a face that offers the calls otherwise leaves it out
ORDER = (
    LEFT, PLAN, REPORT, LOST, RESOURCES, CONDITION, SUPERVISOR, KEYBOARD, INPUT, APPROVAL, ELSEWHERE, OWN_WORDS, SILENCE,
    CAUSE, EXIT_CODE, SANDBOX, SHELL, ENCODING, NEXT,
)  # fmt: skip


class Advice(NamedTuple):
    kind: str  # one of ORDER
    text: str  # whole sentences


def told(kind: str, text: str | None) -> list[Advice]:
    """Return the advice with this text; none if there is no text."""
    return [Advice(kind, text)] if text else []


def left_running(job_id: str, count: int | None) -> list[Advice]:
    """Return that so many processes of an ended job go on; nothing if none does, or if that is not known."""
    job = f"job {short_id(job_id)}"
    if not count:
        return []
    if count == 1:
        return told(LEFT, f"1 process that {job} started is still alive; kill ends it, and its output still arrives.")
    those = f"{count} processes that {job} started are still alive"
    return told(LEFT, f"{those}; kill ends them, and their output still arrives.")


def looks_for_processes(command: list[str]) -> bool:
    """Return whether a command may look for processes by their words."""
    text = " ".join(command)
    return "pgrep" in text or "pkill" in text or ("grep" in text and "ps " in text)


def hint(found: Iterable[Advice]) -> str | None:
    """Return the facts in their order as one text; None if there are none."""
    return sentences(*(one.text for one in sorted(found, key=lambda one: ORDER.index(one.kind))))
