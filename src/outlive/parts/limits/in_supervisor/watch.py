"""Limits that no part of the kernel enforces for a whole job: the sum of processor times, and
memory where there is no control group.

A look is due only when the limit can have been reached: a job that has 40 s left on two processors
is looked at in 20 s. Memory can grow at any moment, and is looked at five times a second.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from outlive.parts.limits import vocabulary
from outlive.parts.limits.applied import Applied
from outlive.parts.limits.names import CPU_TIME, MEMORY, SAMPLED
from outlive.parts.resources import Resources
from outlive.supervisor.added import Running
from outlive.system import process

LIMIT, OOM = "limit", "oom"
_MEMORY_EVERY_S = 0.2
_LEAST_S = 0.05


class LimitWatch:
    """Looks at what a job uses, and ends it when that is over one of its limits. `applied`: by the name of the resource."""

    def __init__(self, job: Running, applied: Mapping[str, Applied]) -> None:
        self._job = job
        self._next_look = job.loop.timer(self._look)
        asked = Resources.of({name: one.value for name, one in applied.items()})
        self._cpu_ms = vocabulary.milliseconds(asked.cpu_time)
        self._memory = asked.memory or 0 if MEMORY in applied and applied[MEMORY].applied == SAMPLED else 0
        self._cpus = asked.cpus or os.cpu_count() or 1
        if self._cpu_ms or self._memory:
            self._look()

    def _look(self) -> None:
        pids = self._job.pids()
        use = process.use_of(pids, whole=False)
        left_s = _MEMORY_EVERY_S if self._memory else self._cpu_ms / 1000
        if self._cpu_ms:
            used_us = self._job.reaper.used_us(use)
            if used_us >= self._cpu_ms * 1000:
                self._job.end(
                    LIMIT,
                    f"its processes used {used_us / 1e6:.1f} s of processor time, and {CPU_TIME} is {self._cpu_ms / 1000:g} s",
                )
                return
            left_s = min(left_s, (self._cpu_ms - used_us / 1000) / 1000 / self._cpus)
        # Shared pages count in each process that has them, so this sum is an upper bound
        if self._memory and use.memory_bytes > self._memory:
            taken = process.shared_fairly_bytes(pids)
            if taken > self._memory:
                self._job.end(OOM, f"its processes took {taken:,} bytes of memory, and its limit is {self._memory:,}")
                return
        self._next_look.after(max(_LEAST_S, left_s))
