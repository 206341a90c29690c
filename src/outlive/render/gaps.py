"""The gap of a job's output as answers have it."""

from __future__ import annotations

from outlive.answers.spans import Gap
from outlive.store.output.gap import Hole


def gaps_in(hole: Hole, start: int, stop: int) -> list[Gap]:
    """Return the gap as answers have it, if any of it lies in [start, stop): always the whole gap."""
    if not hole.crossed_by(start, stop):
        return []
    return [Gap(from_seq=hole.start, to_seq=hole.stop, bytes=hole.stop - hole.start, lines=hole.lines)]
