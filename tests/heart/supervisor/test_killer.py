"""How a supervisor ends the processes of a job."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from outlive.core.records import Ending, State
from outlive.supervisor.ending import outcome
from outlive.supervisor.ending.command_end import CommandEnd
from outlive.supervisor.ending.kill import Killer
from outlive.supervisor.event_loop import EventLoop
from outlive.system import process
from outlive.system.tree import Member


def test_a_process_that_one_look_misses_is_killed_by_the_next() -> None:
    """It can have been forked meanwhile, or have lost its parent (proc_tid_children(5))."""
    loop, missed = EventLoop(), subprocess.Popen(["sleep", "60"])
    start = process.start_time(missed.pid)
    assert start is not None
    looks = iter([[], [Member(missed.pid, start)], [], []])
    try:
        Killer(loop, lambda _: next(looks), loop.stop, gets_sigchld=True).end(signal.SIGKILL, 0)
        loop.run()
        assert (missed.wait(60), list(looks)) == (-signal.SIGKILL, [])
    finally:
        missed.kill()
        missed.wait()
        loop.close()


@pytest.mark.parametrize("gets_sigchld", [True, False])
def test_a_successor_goes_on_with_a_grace_of_which_it_saw_nothing(gets_sigchld: bool) -> None:
    """The killed supervisor may not have sent TERM, and what has ended since tells nobody."""
    asked, killed = subprocess.Popen(["sleep", "60"]), list[str]()
    start, pidfd = process.start_time(asked.pid), os.pidfd_open(asked.pid)
    assert start is not None

    def members(_: bool) -> list[Member]:
        return [Member(asked.pid, start)] if asked.poll() is None else []

    try:
        for living in (True, False):
            assert (asked.poll() is None) == living
            loop = EventLoop()
            killer = Killer(loop, members, loop.stop, gets_sigchld=gets_sigchld, on_kill=lambda: killed.append("KILL"))
            if gets_sigchld and living:
                loop.read(pidfd, killer.check)
            killer.resume(time.monotonic() + 50)
            loop.run()
            loop.close()
            assert (asked.wait(60), killer.busy, killed) == (-signal.SIGTERM, False, [])
    finally:
        asked.kill()
        asked.wait()
        os.close(pidfd)


def test_a_second_order_may_only_shorten_the_grace_and_the_first_cause_stays() -> None:
    """A successor goes on with what stands there."""
    first = outcome.asked_for(None, "timeout", "outlive", "SIGTERM", 60_000)
    assert first is not None and first.kill_at_ns is not None
    later = outcome.asked_for(first, "kill", "me", "SIGTERM", 600_000)
    assert later is not None and later.to_dict() == first.to_dict()
    sooner = outcome.asked_for(first, "kill", "me", "SIGKILL", 0)
    assert sooner is not None and sooner.kill_at_ns is not None and sooner.kill_at_ns < first.kill_at_ns
    assert Ending.replace(sooner, cause=sooner.cause, kill_at_ns=first.kill_at_ns).to_dict() == first.to_dict()
    assert outcome.asked_for(first, "kill", "me", "SIGUSR1", 0) is None


def test_only_a_child_that_is_not_reaped_keeps_its_number_for_itself() -> None:
    """Until then a signal to this number, or to its group, can reach nobody else."""
    end = object.__new__(CommandEnd)
    known = {}
    for end._parent in (True, False):
        for end._is_reaped in (True, False):
            known[end._parent, end._is_reaped] = end.unreaped_pid(State(pid=7))
    assert known == {(True, False): 7, (True, True): None, (False, False): None, (False, True): None}
