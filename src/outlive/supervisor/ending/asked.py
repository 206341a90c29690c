"""Ends that are asked for: by a caller, a time-out or a limit. The cause is recorded first."""

from __future__ import annotations

import signal
from collections.abc import Callable

from outlive.store import history
from outlive.supervisor.control_requests import Kill
from outlive.supervisor.ending import outcome
from outlive.supervisor.ending.kill import Killer
from outlive.supervisor.ending.members import Members
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.job_record import JobRecord
from outlive.system import fault_points, signals


class AskedEnd:
    """Records why a job is to end, with `tell` in the history, and ends it. `on_gone` and `gets_sigchld`
    as in `Killer`."""

    def __init__(
        self,
        loop: EventLoop,
        members: Members,
        record: JobRecord,
        tell: Callable[..., None],
        *,
        on_gone: Callable[[], None],
        gets_sigchld: bool,
    ) -> None:
        self._killer = Killer(
            loop,
            members.killable,
            on_gone,
            gets_sigchld=gets_sigchld,
            hang_up=record.definition.pty,
            on_kill=self._grace_over,
        )
        self.check = self._killer.check
        self._tell = tell
        self._grace_ms = record.definition.kill_after_ms
        self._job = record

    @property
    def busy(self) -> bool:
        return self._killer.busy

    def time_out(self, cause: str) -> None:
        self._record(cause, "outlive", "SIGTERM", self._grace_ms)
        self._killer.end(signal.SIGTERM, self._grace_ms / 1000)

    def over_limit(self, cause: str, message: str) -> None:
        """End the job, which is over one of its limits: at once where it takes memory."""
        number, grace_ms = (signal.SIGKILL, 0) if cause == "oom" else (signal.SIGTERM, self._grace_ms)
        self._record(cause, "outlive", signals.name_of(number), grace_ms, message)
        self._killer.end(number, grace_ms / 1000)

    def signal(self, request: Kill, command: int | None) -> None:
        """Send the signal that a caller asks for. TERM and KILL go to the whole job, any other to
        the processes that `Killer.send` finds; `command` is our child, if it is one."""
        number, grace_ms = request.signal, request.grace_ms
        self._record(request.cause, request.by, signals.name_of(number), grace_ms)
        if number in (signal.SIGTERM, signal.SIGKILL):
            self._killer.end(number, grace_ms / 1000)
        else:
            self._killer.send(number, command)

    def resume(self) -> None:
        """Go on with an end that was asked for before the last supervisor was killed."""
        ending = self._job.state.ending
        if ending is not None and ending.kill_at_ns:
            self._killer.resume(ending.kill_at_ns / 1e9)

    def _grace_over(self) -> None:
        """Record that KILL follows now."""
        ending = self._job.state.ending
        by, cause = ("", "kill") if ending is None else (ending.by or "", ending.cause)
        self._tell(history.SIGNAL, signal="SIGKILL", by=by, cause=cause)

    def _record(self, cause: str, by: str, signal_name: str, grace_ms: int, message: str | None = None) -> None:
        """Record the cause before the signal is sent: a takeover goes on with it, and the outcome names it."""
        self._tell(history.SIGNAL, signal=signal_name, by=by, cause=cause)
        ending = outcome.asked_for(self._job.state.ending, cause, by, signal_name, grace_ms, message)
        if ending is None:  # it is ending already
            return
        self._job.write(ending=ending)
        fault_points.at("kill_recorded")
