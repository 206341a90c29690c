"""The limits of a command that is about to be started, and which of them are really there.

A control group where one can be made. Without one: nice and RLIMIT_CPU by the kernel, memory and
the sum of processor times by looking (watch.py), and the rest not at all. RLIMIT_NPROC counts all
processes of the user, and RLIMIT_AS address space, of which Java takes more than memory.
"""

from __future__ import annotations

import os
import resource
from typing import Any

from outlive.core.records import OwnControlGroup
from outlive.parts.limits import own_group, vocabulary
from outlive.parts.limits.applied import Applied
from outlive.parts.limits.names import (
    CGROUP,
    CPU_TIME,
    CPUS,
    ENGINE,
    GPUS,
    KERNEL,
    MEMORY,
    NICE,
    NOT_SUPPORTED,
    OPTIONS,
    PROCESSES,
    RLIMIT,
    SAMPLED,
)
from outlive.parts.limits.own_group import LimitedGroup, NoGroup
from outlive.parts.resources import Resources

_CONTROLLERS = own_group.OF_RESOURCES
_OF_ENGINE = frozenset({CPUS, MEMORY, GPUS, OPTIONS})
# The watch ends a job first, and with its reason: the kernel ends what no supervisor watches
_LATER_S, _HARD_AFTER_S = 2, 5
_AUTOGROUP = "/proc/self/autogroup"
_OF_SANDBOX_AT_START, _OF_SANDBOX = 2, 1  # processes of its own: bwrap while it starts, process 1
_NO_ENGINE = "no engine on this machine takes it"


class Limits:
    """The limits of one job. `told` says of each resource how it is applied."""

    def __init__(self, asked: Resources, job_id: str, *, sandboxed: bool, engine: bool = False) -> None:
        """`engine`: the job runs in an allocation of an engine, which was told of the rest."""
        self.told: dict[str, Applied] = {}
        self.group: LimitedGroup | None = None
        self._asked = asked
        self._sandboxed = sandboxed
        self._of_engine = _OF_ENGINE if engine else frozenset()
        self._why = "it needs a control group"
        named = asked.to_dict()
        mine = named.keys() - self._of_engine
        wanted = [controller for name, controller in _CONTROLLERS.items() if name in mine]
        if wanted:
            try:
                self.group = own_group.made(job_id, wanted)
            except NoGroup as error:
                self._why = str(error)
        for name, value in named.items():
            applied, why = self._applied(name, value)
            self.told[name] = Applied(value=value, applied=applied, why=why)

    def record(self) -> OwnControlGroup | None:
        return None if self.group is None else self.group.record()

    def _applied(self, name: str, value: Any) -> tuple[str, str | None]:
        """Set one limit, or prepare it. Return how it is applied, and why not better."""
        if name in self._of_engine:
            return ENGINE, None
        if name in _CONTROLLERS:
            return self._in_group(name, value)
        if name == CPU_TIME:
            exact = self.group is not None and self.group.times_us() is not None
            return (CGROUP, None) if exact else (RLIMIT, "the kernel limits each process; their sum is sampled")
        if name == NICE:
            return (KERNEL, None) if _may_be(value) else (NOT_SUPPORTED, "only root may lower it below what it is")
        return NOT_SUPPORTED, _NO_ENGINE

    def _in_group(self, name: str, value: Any) -> tuple[str, str | None]:
        why = self._why
        if self.group is not None and self.group.has(_CONTROLLERS[name]):
            try:
                self._set(self.group, name, value)
                return CGROUP, None
            except OSError as error:
                why = f"the kernel refused it ({error.strerror})"
        elif self.group is not None:
            why = f"the controller {_CONTROLLERS[name]} is not delegated to this user"
        return (SAMPLED if name == MEMORY else NOT_SUPPORTED), why

    def _set(self, group: LimitedGroup, name: str, value: Any) -> None:
        if name == MEMORY:
            # Process 1 of a sandbox tells how the command ended: it must not end with it
            group.limit_memory(value, as_one=not self._sandboxed)
        elif name == PROCESSES:
            group.limit_processes(value + (_OF_SANDBOX_AT_START if self._sandboxed else 0))
        else:
            group.limit_cpus(value)

    def prepare(self) -> None:
        """Take the limits on, in the process that becomes the command. Errors: OSError."""
        if self.group is not None:
            self.group.enter()
        if self._asked.cpu_time is not None:
            _limit_cpu_time(vocabulary.milliseconds(self._asked.cpu_time))
        if self._asked.nice is not None and self._is_applied(NICE, KERNEL):
            _set_nice(self._asked.nice)

    def _is_applied(self, name: str, how: str) -> bool:
        return name in self.told and self.told[name].applied == how

    def started(self, pid: int) -> dict[str, Applied]:
        """Return what is applied, now that the command runs."""
        if self._sandboxed and self.group is not None and self._is_applied(PROCESSES, CGROUP):
            self.group.limit_processes((self._asked.processes or 0) + _OF_SANDBOX)
        # None: it has ended already
        if self._is_applied(NICE, KERNEL) and _nice_of(pid) not in (None, self._asked.nice):
            why = "the kernel refused it"
            self.told[NICE] = Applied.replace(self.told[NICE], applied=NOT_SUPPORTED, why=why)
        return self.told

    def discard(self) -> None:
        """Nothing was started."""
        if self.group is not None:
            self.group.remove()


def _may_be(value: int) -> bool:
    if os.geteuid() == 0 or value >= os.getpriority(os.PRIO_PROCESS, 0):
        return True
    return value >= 20 - resource.getrlimit(resource.RLIMIT_NICE)[0]  # getrlimit(2)


def _nice_of(pid: int) -> int | None:
    """Return the priority of a process; None if there is no such process."""
    try:
        return os.getpriority(os.PRIO_PROCESS, pid)
    except OSError:
        return None


def _set_nice(value: int) -> None:
    """Set the priority, and that of the session: where sessions are scheduled as groups, a nice
    value counts only inside its own (sched(7), autogroup)."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, value)
        with open(_AUTOGROUP, "wb", buffering=0) as file:
            file.write(str(value).encode())
    except OSError:  # `started` sees it; or there are no such groups
        return


def _limit_cpu_time(ms: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = -(-ms // 1000) + _LATER_S
    most = soft + _HARD_AFTER_S
    if hard != resource.RLIM_INFINITY:
        soft, most = min(soft, hard), min(most, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, most))
