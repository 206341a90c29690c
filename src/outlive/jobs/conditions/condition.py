"""The interface of a probe, which checks one condition of one job.

The searches of one job share one probe.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from outlive.answers.job import PortHolder
from outlive.store.inspection.inspection import Inspection

Fired = dict[str, object] | None


class Probe(ABC):
    """Checks a condition. Close it after use."""

    needs_output = False  # whether new output can make it fire
    fds: tuple[int, ...] = ()  # readable when something may have changed
    again: float | None = None  # when to check at the latest (time.monotonic); None: at the next hint of the supervisor
    undecided = False  # a first question is under way and has no answer yet
    last: str | None = None  # what it saw last, for the answer to a wait that timed out
    note: str | None = None  # what the answer says besides what fired
    held: PortHolder | None = None  # another program that makes it impossible: the wait ends
    matched_to: int | None = None  # where in the output the line ends that fired
    taken: PortHolder | None = None  # another program that has the port at the moment

    @abstractmethod
    def check(self, inspection: Inspection) -> Fired:
        """Return what fired, or None."""

    def close(self) -> None:
        return


class Answered(NamedTuple):
    """What a server answered: a sentence about it, the status, and the address that it answered at."""

    sentence: str
    status: int | None = None
    address: str | None = None
    fits: bool = False  # whether that status is waited for
