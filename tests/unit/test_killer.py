"""How a supervisor ends the processes of a job."""

from __future__ import annotations

import signal
import subprocess

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
