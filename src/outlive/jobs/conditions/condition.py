"""Does a condition hold for a job now, and when is it worth looking again? One probe a condition and job (the searches of
one job are one together)."""

from __future__ import annotations

from abc import ABC, abstractmethod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.store.inspect import Inspection

    Fired = dict[str, Any] | None


class Probe(ABC):
    """Close it after use."""

    needs_output = False  # is it to be told of output?
    fds: tuple[int, ...] = ()  # readable when something may have changed
    again: float | None = None  # when to look in any case (time.monotonic); None: when the job's supervisor tells
    undecided = False  # was it asked, and has not answered for the first time yet?
    last: str | None = None  # what it saw last, for whoever waited in vain

    @abstractmethod
    def check(self, found: Inspection) -> Fired:
        """What fired, or None."""

    def close(self) -> None:
        return
