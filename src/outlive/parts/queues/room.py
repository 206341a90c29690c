"""Whether the machine has room for one more job of a queue: memory, and processors."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Collection, Iterable

from outlive.core.record import Value
from outlive.parts.queues import LOAD, MEMORY, SLOTS
from outlive.parts.queues.asked import Asked
from outlive.parts.queues.table import Line
from outlive.system.fds import content

_MEMORY_S = 10  # so long a job has not taken its memory yet, and is counted with what one needs
_LOAD_S = 60.0  # the time constant of the average over a minute: a step is in it after t to 1 - exp(-t / 60)


class Machine(Value):
    """What is so now."""

    available: int  # bytes of memory
    load: float  # average over the last minute
    cores: int
    now: float  # Unix seconds

    @classmethod
    def here(cls) -> Machine:
        found = content("/proc/meminfo").partition(b"MemAvailable:")[2].split(maxsplit=1)
        available = int(found[0]) * 1_024 if found else 0
        return cls(available, os.getloadavg()[0], os.cpu_count() or 1, time.time())


def lacking(asked: Asked, running: Collection[Line], machine: Machine | None = None) -> str | None:
    """Return what there is not enough of for one more job, beside those that run; None if it can start.

    A job that has just started counts with what it will use, so that many are not started at once: with one core as far as
    the average does not have it yet, and for ten seconds with the memory that is to be free.
    """
    if len(running) >= asked.slots:
        return SLOTS
    if asked.memory_free is None and asked.load is None:
        return None
    machine = Machine.here() if machine is None else machine
    ages = [max(0.0, machine.now - line.since) for line in running]
    if asked.memory_free is not None and machine.available < asked.memory_free * (
        1 + sum(age < _MEMORY_S for age in ages)
    ):
        return MEMORY
    if asked.load is not None and machine.load + _to_come(ages) >= asked.load * machine.cores:
        return LOAD
    return None


def _to_come(ages: Iterable[float]) -> float:
    return sum(math.exp(-age / _LOAD_S) for age in ages)
