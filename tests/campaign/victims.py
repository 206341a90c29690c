"""Signals to processes of one job, and to no others.

A process is signalled through a pidfd that was opened before it was looked at, so what is signalled is what was looked
at. What it must be is proven by the id of the job, which no other job has, and by its parents and children.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable

from support import pair, processes

STOP, CONTINUE, KILL = signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL


class Held:
    """A process that was found to be the right one. Close it."""

    def __init__(self, pid: int, is_right: Callable[[int], bool]) -> None:
        """Errors: ProcessLookupError if there is no such process, or if it is not the right one."""
        self.pid = pid
        if pid <= 1:
            raise ProcessLookupError(pid)
        self.fd = os.pidfd_open(pid)
        if not is_right(pid) or self.is_over():
            self.close()
            raise ProcessLookupError(pid)

    def is_over(self) -> bool:
        return bool(select.select([self.fd], [], [], 0)[0])

    def send(self, number: int) -> bool:
        """Send a signal. Return False if the process has ended."""
        if self.is_over():
            return False
        try:
            signal.pidfd_send_signal(self.fd, number)
        except ProcessLookupError:
            return False
        return True

    def wait(self, timeout_s: float = 30) -> None:
        select.select([self.fd], [], [], timeout_s)

    def close(self) -> None:
        os.close(self.fd)

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def supervisor(job: str) -> Held | None:
    """Hold the supervisor of a job, also one on a machine of namespaces."""
    pid = pair.supervisor_now(job)
    return _held(pid, lambda one: _is_supervisor(one, job))


def guardian(job: str) -> Held | None:
    """Hold the guardian of a job: the parent of its supervisor, by name."""
    below = pair.supervisor_now(job)
    above = processes.parent(below) if below else 0
    return _held(above, lambda one: pair.comm(one) == pair.GUARDIAN and _is_above(one, below, job))


def fork_server(job: str) -> Held | None:
    """Hold the fork server that started a job and is still the parent of its guardian."""
    below = pair.supervisor_now(job)
    guard = processes.parent(below) if below else 0
    above = processes.parent(guard) if guard else 0

    def is_right(one: int) -> bool:
        chain = pair.comm(guard) == pair.GUARDIAN and processes.parent(guard) == one
        return pair.comm(one) == pair.FORK_SERVER and chain and _is_above(guard, below, job)

    return _held(above, is_right)


def mirror(job: str) -> Held | None:
    """Hold the mirror of a job on another machine."""

    def is_right(pid: int) -> bool:
        words = processes.command_line(pid)
        return processes.name(pid) == "outmirror" and bool(words) and job in words[-1]

    found = next((pid for pid in processes.all_pids() if is_right(pid)), 0)
    return _held(found, is_right)


def connection(job: str) -> Held | None:
    """Hold the `ssh` of a job's mirror."""
    above = mirror(job)
    if above is None:
        return None
    with above:
        pids = [pid for pid in processes.descendants(above.pid) if processes.name(pid) == "ssh"]
        return _held(
            pids[0] if pids else 0,
            lambda one: processes.name(one) == "ssh" and processes.parent(one) == above.pid and not above.is_over(),
        )


def _is_supervisor(pid: int, job: str) -> bool:
    return pair.comm(pid) == pair.SUPERVISOR and job in " ".join(processes.command_line(pid))


def _is_above(guard: int, below: int, job: str) -> bool:
    return processes.parent(below) == guard and _is_supervisor(below, job)


def _held(pid: int, is_right: Callable[[int], bool]) -> Held | None:
    try:
        return Held(pid, is_right) if pid else None
    except ProcessLookupError:
        return None
