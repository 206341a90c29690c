"""The limits of a job on this machine: set at its start, watched while it runs, and looked at when it has ended."""

from __future__ import annotations

import errno

from outlive.core.records import State
from outlive.parts import resources
from outlive.parts.limits import applied
from outlive.parts.limits.in_supervisor.apply import Limits
from outlive.parts.limits.in_supervisor.watch import LimitWatch
from outlive.parts.limits.names import CGROUP, CPU_TIME, ENGINE, MEMORY, PROCESSES
from outlive.parts.limits.own_group import LimitedGroup
from outlive.supervisor.added import Added, Running
from outlive.supervisor.ending import outcome


class LimitsOfJob(Added):
    """What limits do for one job."""

    _limits: Limits | None = None  # of a command that this process starts

    def begin(self, state: State) -> State:
        job = self.definition
        try:
            asked = resources.of_job(job)
        except ValueError as error:
            raise OSError(errno.EINVAL, str(error)) from error
        if asked is None:
            return state
        sandboxed, elsewhere = job.sandbox is not None, job.host is not None
        self._limits = Limits(asked, job.job_id, sandboxed=sandboxed, engine=elsewhere)
        return applied.written(State.replace(state, job_group=self._limits.record()), self._limits.told)

    def prepare(self) -> None:
        if self._limits is not None:
            self._limits.prepare()

    def discard(self) -> None:
        if self._limits is not None:
            self._limits.discard()

    def started(self, state: State) -> State:
        if self._limits is None or state.pid is None:
            return state
        return applied.written(state, self._limits.started(state.pid))

    def running(self, job: Running) -> None:
        LimitWatch(job, applied.of_job(job.state))

    def ended(self, state: State) -> State:
        limits = applied.of_job(state)
        if state.signal == "SIGXCPU" and state.reason == "signal" and CPU_TIME in limits:
            return State.replace(state, reason="limit", message="one of its processes used more than its cpu_time")
        memory = limits.get(MEMORY)
        if memory is not None and memory.applied in (CGROUP, ENGINE):
            kills = outcome.kernel_kills(state)
            if kills is not None and kills.of_command:  # also of code 137, a shell's for a child that KILL ended
                took = f"its processes took all of the {memory.value:,} bytes of memory that it may have"
                return State.replace(state, reason="oom", message=f"the kernel ended it: {took}")
        if state.exit_code and state.message is None and PROCESSES in limits and _refused_forks(state):
            message = f"fork failed in it: its limit of processes is {limits[PROCESSES].value}"
            return State.replace(state, message=message)
        return state


def _refused_forks(state: State) -> int:
    group = LimitedGroup.of(state.job_group)
    return 0 if group is None else group.refused_forks()


ADDED = LimitsOfJob
