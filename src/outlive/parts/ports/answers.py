"""What answers say of the ports of a job."""

from __future__ import annotations

from outlive.answers import HIDDEN, Fields, field, optional


class Port(Fields):
    """A port that the job leases."""

    port: int = field("Its number.")
    url: str = field("Where a server at this port is reached, if it speaks HTTP.")


class Leased(Fields):
    """Its ports."""

    IN_SENTENCES = frozenset({"ports"})

    ports: dict[str, Port] | None = optional(
        "The ports that the job leases, by name. Absent once it has ended.", human=HIDDEN
    )


class InList(Fields):
    """Its ports."""

    ports: dict[str, int] | None = optional("The ports that the job leases: number by name.")
