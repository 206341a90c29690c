"""End a whole process tree: TERM, a grace, then KILL in sweeps until two in a row find nothing alive. A caller, a time-out or
a limit asks for it; the cause is recorded first."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from outlive import limits
from outlive.store import history
from outlive.supervisor.control_requests import Kill
from outlive.supervisor.ending import outcome
from outlive.supervisor.ending.members import Members
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.job_record import JobRecord
from outlive.system import fault_points, process, signals
from outlive.system.tree import Member

_GRACE_CHECK_S = 0.1  # during a grace, where no SIGCHLD tells of deaths
CLEAN_SWEEPS = 2  # a tree is gone when this many sweeps in a row found nothing alive


class Killer:
    """Ends the processes that `members` returns, and calls `on_gone` when none is alive, or none
    that can be killed.

    `hang_up`: the job has a terminal. Interactive shells ignore TERM, so HUP is sent with it, as
    when the window of the terminal is closed (systemd.kill(5), SendSIGHUP). `on_kill` is called
    when the grace is over and KILL follows. `gets_sigchld`: when one ends. An adopter does not, and
    looks at intervals.
    """

    def __init__(
        self,
        loop: EventLoop,
        members: Callable[[bool], list[Member]],
        on_gone: Callable[[], None],
        *,
        gets_sigchld: bool,
        hang_up: bool = False,
        on_kill: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_kill = on_kill
        self._gets_sigchld = gets_sigchld
        self._hang_up = hang_up
        self._members = members
        self._on_gone = on_gone
        self._grace = loop.timer(self._grace_over)  # set: TERM was sent, and KILL follows
        self._next_sweep = loop.timer(self._sweep)
        self._next_check = loop.timer(self.check)
        self._next_look = loop.timer(self._look)
        self._clean = 0
        self._asked: set[tuple[int, int]] = set()
        self._give_up_at = self._kill_at = 0.0

    @property
    def busy(self) -> bool:
        return self._grace.is_set or self._next_sweep.is_set

    def send(self, number: int, group: int | None) -> None:
        """Send one signal, to the job's process group while its leader exists, otherwise to all
        processes that are left."""
        if group is not None and _send_group(group, number):
            return
        for member in self._members(False):
            process.send_signal(member.pid, member.start, number)

    def end(self, number: int, grace_s: float) -> None:
        """Send TERM, and KILL after the grace, or KILL at once. A second call may only shorten the grace."""
        if number != signal.SIGKILL:
            self._clean = 0
            self._ask(self._members(True))
        if number == signal.SIGKILL or grace_s <= 0:
            self._start_sweeps()
            return
        if not self._next_sweep.is_set:
            kill_at = time.monotonic() + grace_s
            self._kill_at = min(kill_at, self._kill_at) if self._grace.is_set else kill_at
            self._grace.at(self._kill_at)
            if not self._gets_sigchld:
                self._next_look.after(_GRACE_CHECK_S)
        fault_points.at("kill_sent")

    def resume(self, kill_at: float) -> None:
        """Go on with the grace of a supervisor that was killed: KILL at this time (time.monotonic seconds).
        It may not have sent TERM yet, and no SIGCHLD tells of those that ended before."""
        self._kill_at = kill_at
        self._grace.at(kill_at)
        self._next_look.after(0)

    def check(self) -> None:
        """See after a death whether all have ended before the grace is over, and ask those that
        were forked since.

        One look that finds nothing proves nothing: it can miss a process that has just lost its
        parent.
        """
        if not self._grace.is_set:
            return
        members = self._members(True)
        self._ask([member for member in members if (member.pid, member.start) not in self._asked])
        self._clean = 0 if members else self._clean + 1
        if self._clean >= CLEAN_SWEEPS:
            self._grace.cancel()
            self._on_gone()
        elif not members:
            self._next_check.after(limits.SWEEP_INTERVAL_S)

    def _look(self) -> None:
        self.check()
        if self._grace.is_set and not self._gets_sigchld:
            self._next_look.after(_GRACE_CHECK_S)

    def _ask(self, members: list[Member]) -> None:
        for member in members:
            self._asked.add((member.pid, member.start))
            process.send_signal(member.pid, member.start, signal.SIGTERM)
            if self._hang_up:
                process.send_signal(member.pid, member.start, signal.SIGHUP)
            process.send_signal(member.pid, member.start, signal.SIGCONT)  # a stopped process could not act on it

    def _grace_over(self) -> None:
        fault_points.at("kill_over")
        self._on_kill()
        self._start_sweeps()

    def _start_sweeps(self) -> None:
        self._grace.cancel()
        self._clean = 0
        self._give_up_at = time.monotonic() + limits.UNKILLABLE_S
        self._sweep()

    def _sweep(self) -> None:
        """KILL all that are alive. A fork can slip past a sweep, so one sweep that finds nothing proves nothing."""
        members = self._members(True)
        for member in members:
            process.send_signal(member.pid, member.start, signal.SIGKILL)
        self._clean = 0 if members else self._clean + 1
        if self._clean >= CLEAN_SWEEPS or time.monotonic() > self._give_up_at:
            self._on_gone()
            return
        self._next_sweep.after(limits.SWEEP_INTERVAL_S)


def _send_group(group: int, number: int) -> bool:
    """Signal a process group whose leader is not reaped: until then its number cannot mean another group."""
    if group <= 1:
        return False
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


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

    def end_for(self, cause: str, message: str | None = None) -> None:
        """End the job for this cause of ours, a time-out or a limit: at once where it takes memory."""
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
