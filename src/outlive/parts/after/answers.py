"""What answers say of a job that waits for others before it starts."""

from __future__ import annotations

from outlive.answers import Fields, field, optional


class Awaited(Fields):
    """Something that it waits for."""

    job_id: str = field("The id of the other job.")
    name: str = field("Its name, when it was asked for.")
    condition: str = field("What has to hold for it, as the command line takes it: exit=0, port=5432.")


class Waits(Fields):
    """What it waits for."""

    IN_SENTENCES = frozenset({"waiting_for"})

    waiting_for: list[Awaited] | None = optional(
        "What does not hold yet of what the job waits for before it starts. Absent once it has started or ended.",
        entry=Awaited,
    )


class InList(Fields):
    """What it waits for."""

    waiting_for: list[str] | None = optional("What does not hold yet of what the job waits for before it starts.")
