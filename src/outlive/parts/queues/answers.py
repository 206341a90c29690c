"""What answers say of the queue of a job."""

from __future__ import annotations

from outlive.answers import HIDDEN, Fields, field, optional
from outlive.parts.queues import LACKS


class Standing(Fields):
    """Where it stands in line."""

    name: str = field("The name of the queue.")
    position: int = field("Its place in line: 1 is next.")


class Queued(Standing):
    """How it waits."""

    slots: int = field("How many jobs of the queue may run at a time.")
    running: int = field("How many slots are taken.")
    reason: str = field("What the first in line waits for.", enum=[*LACKS])


class InLine(Fields):
    """Its place in a queue."""

    IN_SENTENCES = frozenset({"queued"})

    queued: Queued | None = optional("There while the job waits for its start in a queue.", human=HIDDEN)


class InList(Fields):
    """Its place in a queue."""

    queued: Standing | None = optional("There while the job waits in a queue.")
