"""A condition of a wait, and the interface of a probe, which checks one of one job.

The searches of one job share one probe.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from outlive.answers.job import PortHolder
from outlive.store.inspection.inspection import Inspection

Fired = dict[str, object] | None
EXTERNAL = frozenset({"port", "http", "file"})  # conditions that look at the machine, not at the job


class Condition:
    """A checked condition: `name` is one of NAMES, `value` its value, `more` its other members."""

    def __init__(self, name: str, value: Any = None, more: dict[str, Any] | None = None) -> None:
        self.name, self.value, self.more = name, value, more or {}

    @property
    def mark(self) -> str:
        """The condition in one line, by which it is remembered that it was told."""
        return mark_of(self.name, getattr(self.value, "text", self.value))


def mark_of(name: str, value: object) -> str:
    return name if value is None else f"{name} {json.dumps(value)}"


class Probe(ABC):
    """Checks a condition. Close it after use."""

    needs_output = False  # whether new output can make it fire
    fds: tuple[int, ...] = ()  # readable when something may have changed
    again: float | None = None  # when to check at the latest (time.monotonic); None: at the next hint of the supervisor
    undecided = False  # a first question is under way and has no answer yet
    last: str | None = None  # what it saw last, for the answer to a wait that timed out
    note: str | None = None  # what the answer says besides what fired
    held: PortHolder | None = None  # another program that makes it impossible: the wait ends
    matched_to: int | None = None  # where in the output the line ends that fired
    taken: PortHolder | None = None  # another program that has the port at the moment

    @abstractmethod
    def check(self, inspection: Inspection) -> Fired:
        """Return what fired, or None."""

    def close(self) -> None:
        return


class Answered(NamedTuple):
    """What a server answered: a sentence about it, the status, and the address that it answered at."""

    sentence: str
    status: int | None = None
    address: str | None = None
    fits: bool = False  # whether that status is waited for
