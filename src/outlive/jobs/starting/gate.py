"""What decides whether a job may start: the gate of a part, or none.

It lets a job start, refuses it, or leaves it to a person. Then another part (`Holding`) holds the job back until the question
is answered: the job is `created`, its definition has a member of that part's own (`HELD` of the list of parts), and nothing of
it runs before that part starts it.
"""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Iterator

from outlive import parts
from outlive.config import Config
from outlive.core.object_reference import resolve_name
from outlive.core.record import Value
from outlive.core.records import Definition, Notification
from outlive.errors import OutliveError
from outlive.jobs.context import Context, Principal
from outlive.jobs.starting.plan import Plan
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir


class Gate(ABC):
    """What a part decides about jobs, in a caller whose configuration has the section that the part declares."""

    @abstractmethod
    def require(self, ctx: Context, plan: Plan, *, hold: bool) -> None:
        """Decide about a job that is to be made, or to be started later than it was made; what is left to a person it hands
        to `Holding.ask`. Without `hold` it refuses alone. Errors: denied, also where a person would have to be asked and no
        part asks."""

    @abstractmethod
    def require_sinks(self, caller: Principal, definition: Definition, notification: Notification) -> None:
        """Decide about what a job is to run for its notifications besides what its definition has. Errors: denied."""


class OpenQuestion(Value):
    """What a gate leaves to a person."""

    rule: str
    reason: str | None
    command: list[str]  # which the rule is about, of those that the job runs
    key: str | None  # what the same job is known by, once it was approved for always; None: it cannot be
    timeout_ms: int  # for so long it can be answered


class Holding(ABC):
    """What a part does with jobs that it holds back. All of it is asked in a caller."""

    @abstractmethod
    def ask(self, ctx: Context, plan: Plan, question: OpenQuestion) -> None:
        """Write into the plan what a person is asked, which holds the job back. Errors: denied."""

    @abstractmethod
    def note_held(self, job: JobDir, definition: Definition) -> None:
        """Write into the history that the job is held back. Its locks are held."""

    @abstractmethod
    def hold(self, job: JobDir) -> int:
        """Return an open file whose life says that the process that made the job waits with it, and knows its environment.
        Errors: OSError."""

    @abstractmethod
    def is_open(self, ctx: Context, job: JobDir, definition: Definition) -> bool:
        """Return whether the job may be started now."""

    @abstractmethod
    def refusal(self, job: JobDir) -> OutliveError:
        """Return the error for a caller that starts a job that must not be."""

    @abstractmethod
    def wait(self, ctx: Context, plan: Plan, job: JobDir, holder: int, deadline: float | None) -> socket.socket | None:
        """Wait until `deadline` (time.monotonic seconds) for an answer, and start the job if it may. Closes `holder`, or
        goes on with it after the call. Return the socket on which its supervisor reports; None if the job was not started here."""

    @abstractmethod
    def settle(self, ctx: Context, job: JobDir) -> Inspection:
        """Do what the answer about a job asks for, if the process that had to is gone. Return what is true of the job then.
        It is asked whenever such a job is looked at."""

    @abstractmethod
    def withdraw(self, ctx: Context, job: JobDir) -> Inspection:
        """End a job that has not started; if it started at the same moment, return it as it is. Errors: invalid_state, io_error."""

    @abstractmethod
    def require_changeable(self, job: JobDir) -> None:
        """Refuse a change of a job while the question about it is open. Errors: invalid_state."""

    @abstractmethod
    def answer_here(self, ctx: Context, job: JobDir, inspection: Inspection, *, read_only: bool) -> Inspection:
        """Show the person at this terminal what is asked about the job, and take an answer unless `read_only`. Return what is
        true of the job then: the answer may be left for later. Errors: denied inside a job, invalid_state."""

    @abstractmethod
    def shown(self, job: JobDir, definition: Definition) -> dict[str, object]:
        """Return the member `approval` of answers."""

    @abstractmethod
    def hint(self, job: JobDir, inspection: Inspection) -> str | None:
        """Return what to do about the job; None if there is nothing to do."""


def require(ctx: Context, plan: Plan, *, hold: bool) -> None:
    """Ask each gate about a job (`Gate.require`). Errors: denied."""
    for gate in _deciding(ctx.config):
        gate.require(ctx, plan, hold=hold)


def require_sinks(caller: Principal, definition: Definition, notification: Notification) -> None:
    """Ask each gate about what a job is to run for its notifications (`Gate.require_sinks`). Errors: denied."""
    for gate in _deciding(caller.config):
        gate.require_sinks(caller, definition, notification)


def holding() -> Holding | None:
    """Return what holds jobs back; None if no part does."""
    found: Holding | None = parts.only("holding")
    return found


def of(definition: Definition) -> Holding | None:
    """Return what holds a job back, or held it back before it started; None if nothing does, or its part is not there."""
    return holding() if is_held(definition) else None


def is_held(definition: Definition) -> bool:
    """Return whether a job starts, or started, when a part let it, which need not be there."""
    return parts.is_held(definition.kept)


def anew(definition: Definition) -> Definition:
    """Return the definition of a job about which nothing is decided yet."""
    return definition.without(parts.HELD)


def decides(config: Config) -> bool:
    """Return whether a gate decides about the jobs of callers with this configuration."""
    return any(map(config.has, parts.gates()))


def _deciding(config: Config) -> Iterator[Gate]:
    for section, code in parts.gates().items():
        if config.has(section):
            yield resolve_name(code)
