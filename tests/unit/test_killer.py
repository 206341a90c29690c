"""How a supervisor ends the processes of a job."""

from __future__ import annotations

import signal
import subprocess

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


def test_a_second_order_may_only_shorten_the_grace_and_the_first_cause_stays() -> None:
    """A successor goes on with what stands there."""
    first = outcome.asked_for(None, "timeout", "outlive", "SIGTERM", 60_000)
    assert first is not None and first.kill_at_ns is not None
    later = outcome.asked_for(first, "kill", "me", "SIGTERM", 600_000)
    assert later is not None and later.to_dict() == first.to_dict()
    sooner = outcome.asked_for(first, "kill", "me", "SIGKILL", 0)
    assert sooner is not None and sooner.kill_at_ns is not None and sooner.kill_at_ns < first.kill_at_ns
    assert Ending.replace(sooner, kill_at_ns=first.kill_at_ns).to_dict() == first.to_dict()
    assert outcome.asked_for(first, "kill", "me", "SIGUSR1", 0) is None


def test_only_a_child_that_is_not_reaped_keeps_its_number_for_itself() -> None:
    """Until then a signal to this number, or to its group, can reach nobody else."""
    end = object.__new__(CommandEnd)
    known = {}
    for end._parent in (True, False):
        for end._is_reaped in (True, False):
            known[end._parent, end._is_reaped] = end.unreaped_pid(State(pid=7))
    assert known == {(True, False): 7, (True, True): None, (False, False): None, (False, True): None}
