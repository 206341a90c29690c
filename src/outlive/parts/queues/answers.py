"""What answers say of the queue of a job."""

from __future__ import annotations

from typing import Any

from outlive.answers import HIDDEN, Part, optional

_HELP = (
    "There while the job waits for its start in a queue: {name, position, slots, running, reason}. position: 1 is next; "
    "reason: slots, memory or load."
)


class InLine(Part):
    """Its place in a queue."""

    IN_SENTENCES = frozenset({"queued"})

    queued: dict[str, Any] | None = optional(_HELP, human=HIDDEN)


class InList(Part):
    """Its place in a queue."""

    queued: dict[str, Any] | None = optional(
        "There while the job waits in a queue: {name, position}. position: 1 is next."
    )
