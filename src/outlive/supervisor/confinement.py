"""What a supervisor needs of the part that confines the command of a job (`CONFINEMENT` in the list of parts), which is loaded
for a job with a sandbox before its command is spawned (large_code.py).

Process 1 of the sandbox is the parent of the command. What it reports stays in a socket until the outcome is recorded, so
a supervisor that takes over reads the same.
"""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from outlive import parts
from outlive.core.record import Value
from outlive.core.records import Sandbox
from outlive.system import spawn


class Unavailable(spawn.BeforeExec):
    """A sandbox that could not be set up: nothing ran."""


class Inside(Value):
    """A command that runs in a sandbox, and the first process of the sandbox."""

    command: int
    init: int


class Confinement(ABC):
    """Starts commands in a sandbox, and reads what process 1 of it reports. `here` is the supervisor's end of the socket;
    `folder`: an fd of the directory of the job, for the record of what is in its workspace before it."""

    @abstractmethod
    def report_pair(self) -> tuple[socket.socket, socket.socket]:
        """Return (the supervisor's end, the end in the sandbox) of the socket for reports. Errors: OSError."""

    @abstractmethod
    def start(
        self,
        sandbox: Sandbox,
        argv: Sequence[str],
        env: Mapping[str, str],
        stdio: Mapping[int, int],
        *,
        how: spawn.How,
        folder: int,
        report: tuple[socket.socket, socket.socket],
    ) -> Inside:
        """Start `argv` in the sandbox, which has a terminal if `how` names one: fds 0, 1 and 2 of `stdio`.

        `stdio`: the fds 0, 1 and 2 of the command, that of its script, and those that stay open as long as the sandbox.
        Errors: Unavailable and spawn.BeforeExec if nothing ran; OSError of execve(2).
        """

    @abstractmethod
    def outcome(self, here: socket.socket) -> int | None:
        """Return the wait(2) status of the command; None if it was not reported: not yet, or never, if process 1 was
        killed. The report stays in the socket."""

    @abstractmethod
    def found_again(self, here: socket.socket) -> Inside | None:
        """Return the command that a killed supervisor started and did not record, among the processes below this one;
        None if there is none."""

    @abstractmethod
    def inherited(self, sandbox: Sandbox, environment: Mapping[str, str]) -> dict[str, str]:
        """Return what of the variables of a caller a process in the sandbox gets."""

    @abstractmethod
    def start_sink(
        self,
        sandbox: Sandbox,
        words: list[str],
        env: Mapping[str, str],
        stdio: Mapping[int, int],
        how: spawn.How,
        folder: int,
    ) -> int:
        """Start a notification command in a sandbox like that of its job, and return its pid. Errors: OSError."""

    @abstractmethod
    def open_writable(self, sandbox: Sandbox, path: str, flags: int, mode: int) -> int:
        """Return an fd of a file that a job in this sandbox could write itself; its directories are made. Errors:
        OSError; EROFS if the job may not write it."""


def installed() -> Confinement:
    """Return what confines the command of a job. Errors: Unavailable if its part is not installed here: what was to be
    confined is not run."""
    found = if_installed()
    if found is None:
        raise Unavailable(0, f"it needs {parts.not_there([parts.CONFINES])}")
    return found


def if_installed() -> Confinement | None:
    """Return what confines the command of a job, which runs already; None without its part."""
    part = parts.confining()
    found: Confinement | None = None if part is None else part.CONFINEMENT
    return found
