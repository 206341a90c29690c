"""When the command of a job ended, and how."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress

from outlive.core.records import State
from outlive.supervisor import confinement
from outlive.supervisor.added import AllAdded
from outlive.supervisor.ending import outcome
from outlive.supervisor.ending.members import Reaper
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.job_fds import JobFds
from outlive.supervisor.output.pump import Pump
from outlive.system import process, tree

_EXIT_INFO_S = 3.0  # so long PIDFD_GET_INFO may take to know it: PID 1 has to reap the command first


class CommandEnd:
    """Calls `on_end` when the command ends, which its pidfd tells, or the first process of its
    sandbox. Without either, SIGCHLD has to. `parent`: the command is a child of this process."""

    def __init__(
        self,
        loop: EventLoop,
        job_fds: JobFds,
        reaper: Reaper,
        added: AllAdded,
        *,
        parent: bool,
        on_end: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._fds = job_fds
        self._reaper = reaper
        self._added = added
        self._parent = parent
        self._on_end = on_end
        self._pidfd: int | None = None
        self._ended_ns: int | None = None  # when the end was seen; an adopter learns later how it ended
        self._lost_at: float | None = None  # when the kernel is asked no more
        self._is_reaped = False

    @property
    def is_watched(self) -> bool:
        """Whether a file tells the end, so that SIGCHLD means nothing of the command."""
        return self._pidfd is not None or self._fds.report is not None

    def begin(self, state: State) -> None:
        """Watch for the end."""
        if state.pid is None:
            return
        held, report = self._fds.pidfd, self._fds.report
        self._pidfd = process.open_pidfd(state.pid) if held is None else held
        if report is not None:
            if self._pidfd is not None and not process.is_same(state.identity):
                self._pidfd = None  # the command has ended, and the number may mean another process
            self._loop.read(report.fileno(), self._seen)
        elif self._pidfd is not None:
            self._loop.read(self._pidfd, self._seen)
        else:  # no pidfds here, and SIGCHLD tells; or the command has ended already
            self._on_end()

    def _seen(self) -> None:
        watched = self._fds.report.fileno() if self._fds.report is not None else self._pidfd
        if watched is not None:
            self._loop.forget(watched)
            self._ended_ns = time.monotonic_ns()
        self._on_end()

    def outcome(self, state: State, pump: Pump) -> State | None:
        """Return the state with the outcome, None while it is not known. Errors: ChildProcessError."""
        status = self._status(state)
        if status is None:
            return None
        if isinstance(status, str):
            return self._added.ended(outcome.lost(state, status))
        ended = outcome.ended(pump.recorded_in(state), status, self._ended_ns)
        ended = State.replace(ended, usage=self._reaper.usage())
        return outcome.judged(self._added.ended(outcome.of_engine(ended)))

    def _status(self, state: State) -> int | str | None:
        """Return the wait(2) status of the command; None if it is not known yet; a sentence if it never will be."""
        if self._fds.report is not None:
            part = confinement.if_installed()
            reported = None if part is None else part.outcome(self._fds.report)
            return (
                self._status_of_kernel(state, "the first process of its sandbox was") if reported is None else reported
            )
        if self._parent:
            assert state.pid is not None
            return self._reaper.status(state.pid)
        return self._status_of_kernel(state, "its supervisors were")

    def _status_of_kernel(self, state: State, parents: str) -> int | str | None:
        """As `_status`, of a command whose parents were killed: the kernel tells its status by the pidfd."""
        status = process.exit_status(self._pidfd) if self._pidfd is not None else None
        if status is not None or tree.running(state.identity):
            return status
        now = time.monotonic()
        if self._lost_at is None:
            self._lost_at = now + _EXIT_INFO_S
        return None if now < self._lost_at else f"{parents} killed, and the kernel did not keep its exit code"

    # --- reaping ---

    def unreaped_pid(self, state: State) -> int | None:
        """Return the pid of the command if it is a child of this process that was not reaped: until
        then its number means no other process."""
        return None if self._is_reaped or not self._parent else state.pid

    def reap(self, state: State) -> None:
        """Reap the command, whose outcome is visible."""
        pid = self.unreaped_pid(state)
        if pid is not None and self._fds.report is None:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        self._is_reaped = True
