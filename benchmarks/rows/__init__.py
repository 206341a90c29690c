"""The rows of the table. Each module declares some with `row`, in the order of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.bench import Bench
from benchmarks.samples import Found

Measure = Callable[[Bench], Found]


@dataclass(frozen=True)
class Row:
    """One row.

    Its goal is at most `ratio` times the floor, or at most `most` of the unit, or there is none.
    """

    name: str
    title: str
    measure: Measure
    unit: str = "ms"
    floor: str | None = None  # what the floor is, in words
    ratio: float | None = None
    most: float | None = None
    beats_peers: bool = False  # the goal is also that no peer is faster

    def goal(self) -> str:
        if self.ratio is not None:
            return f"≤ {self.ratio:g} ×" + (", no peer faster" if self.beats_peers else "")
        return "" if self.most is None else f"≤ {self.most:g} {self.unit}"

    def is_met(self, found: Found) -> bool | None:
        """Return whether the goal is met; None: there is no goal."""
        if self.beats_peers and any(peer.median < found.ours.median for peer in found.peers.values()):
            return False
        if self.ratio is not None and found.floor is not None:
            return found.ours.median <= self.ratio * found.floor.median
        return None if self.most is None else found.ours.median <= self.most


ROWS: dict[str, Row] = {}


def row(name: str, title: str, **about: object) -> Callable[[Measure], Measure]:
    """Declare a function as a row; `about` are fields of Row."""

    def declare(measure: Measure) -> Measure:
        ROWS[name] = Row(name, title, measure, **about)  # type: ignore[arg-type]
        return measure

    return declare
