"""Samples of one figure, and works that are measured in turn, so that other load of the machine
meets all alike.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Work = Callable[[], float]  # does something once and returns what it cost


@dataclass(frozen=True)
class Samples:
    """Measured values of one figure, all in the row's unit."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def spread(self) -> tuple[float, float]:
        """The quarter points: half of the values lie between them."""
        if len(self.values) < 2:
            return self.values[0], self.values[0]
        low, _, high = statistics.quantiles(self.values, n=4, method="inclusive")
        return low, high

    def to_dict(self) -> dict[str, Any]:
        low, high = self.spread
        found = {"median": self.median, "low": low, "high": high, "best": min(self.values), "worst": max(self.values)}
        return {name: round(value, 4) for name, value in found.items()} | {"count": len(self.values)}


@dataclass
class Found:
    """What a row measured.

    `notes` are further figures of it, each a number with its unit in its name.
    """

    ours: Samples
    floor: Samples | None = None
    peers: dict[str, Samples] = field(default_factory=dict)
    notes: dict[str, float] = field(default_factory=dict)


def interleaved(works: dict[str, Work], rounds: int) -> dict[str, Samples]:
    """Measure each work `rounds` times, in turn; each round begins with another one.

    One more round comes first, to warm up, and does not count.
    """
    found: dict[str, list[float]] = {name: [] for name in works}
    names = list(works)
    for turn in range(rounds + 1):
        begin = turn % len(names)
        for name in names[begin:] + names[:begin]:
            value = works[name]()
            if turn:
                found[name].append(value)
    return {name: Samples(tuple(values)) for name, values in found.items()}


def compared(works: dict[str, Work], rounds: int) -> Found:
    """Measure works in turn as the result of a row: `ours`, `floor` if there is one, and every
    other name is a peer.
    """
    found = interleaved(works, rounds)
    return Found(found.pop("ours"), found.pop("floor", None), found)


def taken_ms(work: Callable[[], object]) -> float:
    """Return the wall-clock milliseconds of one call."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def machine() -> str:
    """Return one line that describes this machine."""
    uname = os.uname()
    cores = len(os.sched_getaffinity(0))
    names = [line for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if "model name" in line]
    model = names[0].partition(":")[2].strip() if names else uname.machine
    python = ".".join(map(str, sys.version_info[:3]))
    return f"{cores} cores ({model}), {uname.sysname} {uname.release}, Python {python}"
