"""What answers say of the queue of a job."""

from __future__ import annotations

from outlive.answers import HIDDEN, Part, field, optional
from outlive.parts.queues import LACKS


class Standing(Part):
    """Where it stands in line."""

    name: str = field("The name of the queue.")
    position: int = field("Its place in line: 1 is next.")


class Queued(Standing):
    """How it waits."""

    slots: int = field("How many jobs of the queue may run at a time.")
    running: int = field("How many slots are taken.")
    reason: str = field("What the first in line waits for.", enum=[*LACKS])


class InLine(Part):
    """Its place in a queue."""

    IN_SENTENCES = frozenset({"queued"})

    queued: Queued | None = optional("There while the job waits for its start in a queue.", human=HIDDEN)


class InList(Part):
    """Its place in a queue."""

    queued: Standing | None = optional("There while the job waits in a queue.")
