"""Samples of what a job uses, taken whether or not anyone looks.

The first comes after some seconds, and each wait is a part of the age of the job: the curve of an
hour and that of a month have about as many points, and a job that stands still is hardly woken.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from outlive.core.records import State
from outlive.store.job_dir import USAGE, JobDir
from outlive.supervisor.ending.members import Reaper
from outlive.supervisor.event_loop import EventLoop
from outlive.system import process
from outlive.system.fds import Closing

_LEAST_S = 2.0  # what ends sooner has no samples
_PART = 16  # of its age is each wait: 93 samples in an hour, 244 in a year


class Sampling:
    """Takes samples of a command that runs, from `begin` to `end`. `end_of_output`: where its output ends."""

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
        try:
            with Closing(self._job.open_file(USAGE, os.O_WRONLY | os.O_APPEND | os.O_CREAT)) as fd:
                os.write(fd, line)
        except OSError:  # a full disk, or the job was removed
            pass
        self._wait()
