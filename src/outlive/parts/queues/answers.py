"""What answers say of the queue of a job."""

from __future__ import annotations

from outlive.answers import HIDDEN, Part, field, optional

_NAME = "The name of the queue."
_POSITION = "Its place in the line; 1 is next."


class Queued(Part):
    """Its place in a queue, and what the queue lacks."""

    name: str = field(_NAME)
    position: int = field(_POSITION)
    slots: int = field("How many jobs of the queue run at a time.")
    running: int = field("How many do now.")
    reason: str = field("What is missing for the next start.", enum=["slots", "memory", "load"])


class ListedPlace(Part):
    """Its place in a queue."""

    name: str = field(_NAME)
    position: int = field(_POSITION)


class InLine(Part):
    """Its place in a queue."""

    IN_SENTENCES = frozenset({"queued"})

    queued: Queued | None = optional("There while the job waits for its start in a queue.", human=HIDDEN)


class InList(Part):
    """Its place in a queue."""

    queued: ListedPlace | None = optional("There while the job waits in a queue.")
