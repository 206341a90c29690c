"""The processes of a job as its supervisor finds them: those that live, those that have ended, and what they use."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress

from outlive.core.records import Sources, State, Usage
from outlive.store.job_dir import USAGE, JobDir
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.events.sinks import Sinks
from outlive.supervisor.job_record import JobRecord
from outlive.system import prctl, process, tree
from outlive.system.fds import Closing
from outlive.system.job_group import JobGroup
from outlive.system.prctl import Used
from outlive.system.process import Use
from outlive.system.tree import Member

# Of our own peak, which a child counts as its own: the kernel's counters are not exact to the page
_SLACK = 16


class Members:
    """The living processes of a job. Process 1 of a sandbox is no part of it. `parent`: the command
    is below this process."""

    def __init__(self, record: JobRecord, sinks: Sinks, *, parent: bool) -> None:
        self._record = record
        self._sinks = sinks
        self._parent = parent

    def living(self, full: bool = False) -> list[Member]:
        """`full` also looks for the cookie, for processes that are not below this one."""
        state = self._record.state
        command = tree.running(state.identity)  # which may call itself a supervisor, so that it is not found below
        processes = [*([] if command is None else [command]), *tree.below(os.getpid(), self._sinks.pids)]
        if not self._parent:  # the command is not below us, and may have dropped its cookie
            processes += _command_tree(state)
        if full or not self._parent:
            processes += tree.with_cookie(state.job_id)
        first = None if state.init is None else state.init.pid
        members = {member.pid: member for member in processes if member.pid != first}
        if self._sinks.has_started:  # what a notification command left behind is no part of the job
            members = {pid: member for pid, member in members.items() if not tree.is_sink(pid)}
        return list(members.values())

    def killable(self, full: bool = False) -> list[Member]:
        """After the end of the command process 1 of its sandbox is one of them: its death is that of
        all that are left inside, whatever they call themselves. Before, it would take the outcome
        with it."""
        state = self._record.state
        first = tree.running(state.init) if state.finished else None
        return [*self.living(full), *([] if first is None else [first])]

    def pids(self) -> list[int]:
        return [member.pid for member in self.living()]


def _command_tree(state: State) -> list[Member]:
    command, first = tree.running(state.identity), tree.running(state.init)
    top = first or command
    return [] if top is None else [*([command] if command else []), *tree.below(top.pid)]


class Reaper:
    """Reaps the children of a supervisor, and adds up what they used. `parent`: the command is one
    of them.

    What a process used counts its children as far as it has waited for them. An orphan becomes a
    child of the supervisor, which waits for it: so each process is counted once, a daemon included.
    """

    def __init__(self, state: State, *, parent: bool) -> None:
        self.group = JobGroup.of(state.job_group)
        self._parent = parent
        self._known = state.usage
        self._whole = parent and state.usage is not None and state.finished
        # A predecessor may have started the command: what it had in memory counts as our own
        self._least = prctl.own_peak_bytes(-1) if state.adopted else 0
        known = state.usage or Usage()
        self._user_us = 1000 * known.user_ms
        self._system_us = 1000 * known.system_ms
        self._peak_bytes = known.peak_memory_bytes or 0

    def status(self, pid: int) -> int | None:
        """Return the wait(2) status of the command, None while it runs. It is not reaped: a
        successor of this process must find it too. Errors: ChildProcessError."""
        ended = prctl.ended_child(pid)
        if ended is None:
            return None
        status, used = ended
        if not self._whole:
            self._whole = True
            self._add(used, least=max(self._least, prctl.own_peak_bytes()))
        return status

    def orphans(self, command: int | None, sinks: Sinks) -> bool:
        """Reap descendants that lost their parent, but not the command. Return whether one of them
        was a process of the job. By pid: waitid(P_ALL, WNOWAIT) would return the command again and
        again."""
        more = False
        for pid in tree.children(os.getpid()):
            if pid == command:
                continue
            try:
                ended = prctl.ended_child(pid)
            except ChildProcessError:
                continue
            if ended is None:
                continue
            status, used = ended
            if pid not in sinks.pids and not tree.is_ours(pid):  # of another job, or our own fork
                self._add(used)
                more = True
            os.waitpid(pid, 0)
            sinks.reaped(pid, status)
        return more

    def _add(self, used: Used | None, *, least: int = 0) -> None:
        if used is None:
            return
        self._user_us += used.user_us
        self._system_us += used.system_us
        if used.peak_bytes > least + least // _SLACK:
            self._peak_bytes = max(self._peak_bytes, used.peak_bytes)

    def used_us(self, living: Use) -> int:
        """Return the processor time of the whole job: its ended processes, and these living ones."""
        times = None if self.group is None else self.group.times_us()
        return sum(times) if times is not None else self._user_us + self._system_us + living.user_us + living.system_us

    def memory_bytes(self, living: Use) -> int:
        """Return the memory of the whole job. `living`: its living processes."""
        memory = None if self.group is None else self.group.memory_bytes()
        return living.memory_bytes if memory is None else memory

    def usage(self) -> Usage | None:
        """Return what the ended processes of the job used, as a state keeps it; None where that is
        not known, as of a command that is not a child of this process."""
        times = None if self.group is None else self.group.times_us()
        peak = None if self.group is None else self.group.peak_bytes()
        if times is None and not self._parent:
            return self._known
        user_us, system_us = (self._user_us, self._system_us) if times is None else times
        return Usage(
            user_ms=user_us // 1000,
            system_ms=system_us // 1000,
            peak_memory_bytes=(self._peak_bytes or None) if peak is None else peak,
            source=None if times is None and peak is None else Sources(time=_of(times), memory=_of(peak)),
        )


def _of(figure: object) -> str:
    """Return the source of a figure that the control group gives, if it is not None."""
    return "rusage" if figure is None else "cgroup"


_LEAST_S = 2.0  # what ends sooner has no samples
_PART = 16  # of its age is each wait: 93 samples in an hour, 244 in a year


class Sampling:
    """Takes samples of what a command uses, whether or not anyone looks, from `begin` to `end`. `end_of_output`: where its
    output ends.

    The first comes after some seconds, and each wait is a part of the age of the job: the curve of an hour and that of a
    month have about as many points, and a job that stands still is hardly woken.
    """

    def __init__(
        self,
        loop: EventLoop,
        job: JobDir,
        pids: Callable[[], list[int]],
        reaper: Reaper,
        end_of_output: Callable[[], int],
    ) -> None:
        self._job, self._pids, self._reaper, self._end_of_output = job, pids, reaper, end_of_output
        self._timer = loop.timer(self._take)
        self._started_ns = 0

    def begin(self, state: State) -> None:
        self._started_ns = state.started_ns or time.monotonic_ns()
        self._wait()

    def end(self) -> None:
        self._timer.cancel()

    def _wait(self) -> None:
        self._timer.after(max(_LEAST_S, (time.monotonic_ns() - self._started_ns) / 1e9 / _PART))

    def _take(self) -> None:
        use = process.use_of(self._pids(), whole=False)
        elapsed_ms = (time.monotonic_ns() - self._started_ns) // 1_000_000
        cpu_ms, memory = self._reaper.used_us(use) // 1000, self._reaper.memory_bytes(use)
        line = b"[%d,%d,%d,%d]\n" % (elapsed_ms, cpu_ms, memory, self._end_of_output())
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        with suppress(OSError), Closing(self._job.open_file(USAGE, flags)) as fd:  # a full disk, or the job was removed
            os.write(fd, line)
        self._wait()
