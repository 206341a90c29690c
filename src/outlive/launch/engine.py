"""What an engine does: the base class of those for the kinds of hosts that are not this machine.

An engine knows a job by its directory. Nothing here is loaded for a job of this machine.
"""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Protocol

from outlive.config import Config, HostSettings
from outlive.core.records import Definition
from outlive.errors import OutliveError
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir, Locks
from outlive.store.root import Store

Finding = dict[str, object]  # {name, status ok|warn|fail, found, advice?}, as `host check` answers


class Caller(Protocol):
    """What an engine needs of a caller (`Principal` of jobs/context.py)."""

    @property
    def env(self) -> dict[str, str]: ...
    @property
    def store(self) -> Store: ...
    @property
    def face(self) -> str: ...
    @property
    def owner(self) -> str: ...
    @property
    def config(self) -> Config: ...
    @property
    def shell(self) -> tuple[str, ...]: ...


class Host(Protocol):
    """A host of the configuration (launch/engines.py)."""

    @property
    def name(self) -> str: ...
    @property
    def settings(self) -> HostSettings: ...


class Start(Protocol):
    """What is to be started (jobs/starting/plan.Plan)."""

    @property
    def definition(self) -> Definition: ...
    @property
    def overrides(self) -> Mapping[str, str]: ...
    @property
    def stdin_data(self) -> bytes | None: ...


class Engine(ABC):
    """The engine of one kind of hosts."""

    # Whether the job's directory is a copy of another one, on a machine where paths mean something else. The mirror
    # notifies the sinks; `resumed` is called for a job that has ended only while it is marked live, because the other
    # directory is still there. Else the engine knows ends that no process of ours has seen, and `resumed` is called for
    # each job that has ended: the engine's word for that comes later
    mirrors = False
    # The verbs for which the other end is asked what a job uses: its connection takes `usage`, and answers with
    # {usage, descendants} as they are there
    tells_use: tuple[str, ...] = ()
    missing: str | None = None  # why nothing can be asked of a host of this kind

    def directory(self, host: Host, given: str | None) -> str | None:
        """Return the working directory of a job for which the caller names `given` or None; None where
        it is the same directory as here. Errors: invalid_argument."""
        return None

    @abstractmethod
    def check(self, host: Host, definition: Definition) -> None:
        """Check, before anything is made, that such a job can run there. Errors: what keeps it from that."""

    def beside_command(self, definition: Definition) -> Sequence[str]:
        """Return names of what a job gives the host by which it may run, read or write something besides the command."""
        return ()

    def holds(self, caller: Caller, host: Host, definition: Definition) -> bool:
        """Return whether the engine itself has a job wait for the others that it waits for: then it gets the job at once."""
        return False

    @abstractmethod
    def submit(
        self, caller: Caller, host: Host, job: JobDir, start: Start, locks: Locks, *, awaited: bool = True
    ) -> socket.socket | None:
        """Hand a job over; the caller holds its locks. Return a socket on which the start is reported
        as a supervisor does it, or None. Not `awaited`: no caller takes the job back if its host is out of reach now.
        Errors: OutliveError; then nothing was handed over, and nothing will run."""

    @abstractmethod
    def resumed(self, caller: Caller, job: JobDir, inspection: Inspection) -> Inspection:
        """Return the inspection of a job that has not ended, with what the engine says of it. Every
        reader calls this where it would adopt a job of this machine."""

    @abstractmethod
    def connect(self, job: JobDir) -> socket.socket:
        """Return a connection to the job's control socket. Errors: OutliveError, retryable if the host
        is out of reach."""

    def advice(self, reason: str | None) -> str | None:
        """Return what to do about a job that waits in a queue for this reason; None if there is nothing
        but to wait."""
        return None

    @abstractmethod
    def cancelled(self, job: JobDir, inspection: Inspection, by: str) -> Inspection:
        """End a job that waits, as `by` asks for, and return its inspection. Errors: io_error."""

    @abstractmethod
    def forget(self, job: JobDir) -> None:
        """Give up what the engine holds of a job whose directory is about to be deleted. Errors:
        OutliveError if the directory must stay."""

    @abstractmethod
    def checked(self, caller: Caller, host: Host) -> list[Finding]:
        """Return the findings about the host. What is missing there and we can put there, is put there first."""


class OutOfReach(Engine):
    """The engine of a kind of hosts for which no part is installed: its jobs can be read, and that is all."""

    mirrors = True

    def __init__(self, kind: str) -> None:
        self.missing = f"this outlive reaches no hosts of kind {kind}: the part for them is not installed"

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        hint = "Repeat the call where outlive is installed whole, such as with the outlive that started the job."
        raise OutliveError("not_supported", str(self.missing), hint=hint)

    check = submit = connect = cancelled = forget = checked = _refuse

    def resumed(self, caller: Caller, job: JobDir, inspection: Inspection) -> Inspection:
        return inspection
