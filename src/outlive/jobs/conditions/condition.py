"""A condition of a wait, and the interface of a probe, which checks one of one job.

The searches of one job share one probe.

And the end of another job, for which a job waits before it starts.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any

from outlive.answers.job import PortHolder
from outlive.core.ids import short_id
from outlive.core.quoted import one_line
from outlive.core.record import Value
from outlive.core.records import State
from outlive.store.inspection.inspection import Inspection

Fired = dict[str, object] | None


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


def held_by(holder: PortHolder, *, is_condition: bool = True) -> str:
    """Return who has the port, and what to do about it: in a condition, or for a job that failed."""
    command = f" ({holder.command})" if holder.command else ""
    whose = f" of job {holder.job_id} ({holder.name})" if holder.job_id else ""
    belongs = f"belongs to {holder.owner}" if holder.owner else "is not this job's"
    instead = f"kill job {holder.job_id}" if holder.job_id else "end that process"
    instead = "ask before that job is ended" if holder.owner else instead
    anybody = '; "any": true in the condition waits for anybody\'s' if is_condition else ""
    return (
        f"Port {holder.port} is held by pid {holder.pid}{command}{whose}, which {belongs}. Give the job another "
        f"port, or {instead}{anybody}."
    )


class AwaitedEnd(Value):
    """The end of one job."""

    job_id: str
    name: str
    exit_code: int | None  # with which it has to end; None: with any, or by a signal

    def why_never(self, state: State) -> str | None:
        """Return why it can no longer come, as the state of that job says; None if it can, or has."""
        if self.exit_code is None or not state.finished or state.exit_code == self.exit_code:
            return None
        name = f"job {short_id(self.job_id)} ({one_line(self.name)})"
        return f"it waited for {name} to exit with {self.exit_code}, and that {_ending(state)}"


def _ending(state: State) -> str:
    if state.exit_code is not None:
        return f"exited with code {state.exit_code}"
    if state.state == "killed":
        return f"was ended by {state.signal or 'a signal'}"
    return f"failed: {state.message}" if state.message else "has ended in a way that is not known"
