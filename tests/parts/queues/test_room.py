"""Whether the machine has room for one more job."""

from __future__ import annotations

from typing import Any

from outlive.core.ids import new_id
from outlive.parts.queues import LOAD, MEMORY, SLOTS
from outlive.parts.queues.asked import Asked
from outlive.parts.queues.room import Machine, lacking
from outlive.parts.queues.table import Line

NOW = 1_800_000_000
GIB = 1 << 30


def test_a_job_starts_where_there_is_enough_of_everything() -> None:
    def found(
        running: tuple[int, ...], average: float, available: float, *, cores: int = 4, **wanted: Any
    ) -> str | None:
        asked = Asked(name="heavy", slots=3, table="/t", **wanted)
        lines = [Line(new_id(), NOW - age) for age in running]
        return lacking(asked, lines, Machine(int(available * GIB), average, cores, float(NOW)))

    hours = 36_000
    # ages of those that run, load, available GiB, what is asked → what is lacking
    assert found((), 900, 0) is None, "without a condition the machine decides nothing"
    assert found((hours, hours), 900, 0) is None
    assert found((hours,) * 3, 0, 64) == SLOTS
    assert found((hours,) * 4, 0, 64) == SLOTS

    assert found((), 0, 4, memory_free=4 * GIB) is None
    assert found((), 0, 3.9, memory_free=4 * GIB) == MEMORY
    assert found((0,), 0, 7.9, memory_free=4 * GIB) == MEMORY, "the one that has just started takes its memory soon"
    assert found((0,), 0, 8, memory_free=4 * GIB) is None
    assert found((11,), 0, 4, memory_free=4 * GIB) is None, "it has taken it"

    assert found((), 5.9, 0, load=1.5) is None
    assert found((), 6.0, 0, load=1.5) == LOAD
    assert found((0, 0), 3.9, 0, load=1.5) is None, "two cores more, soon"
    assert found((0, 0), 4.1, 0, load=1.5) == LOAD
    assert found((hours, hours), 5.9, 0, load=1.5) is None, "the average has them"
    assert found((-60,), 5.5, 0, load=1.5) == LOAD, "the clock went back"
    assert found((), 0.6, 0, cores=1, load=0.5) == LOAD
    assert found((hours,) * 3, 99, 0, load=1.5, memory_free=GIB) == SLOTS, "the first reason alone is said"


def test_this_machine_has_memory_and_cores() -> None:
    here = Machine.here()
    assert here.available > 1 << 20
    assert here.load >= 0
    assert here.cores >= 1
