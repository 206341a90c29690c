"""What answers say of the ports of a job."""

from __future__ import annotations

from outlive.answers import HIDDEN, Part, field, optional


class Port(Part):
    """A port that the job leases."""

    port: int = field("Its number.")
    url: str = field("Where a server at this port is reached, if it speaks HTTP.")


class Leased(Part):
    """Its ports."""

    IN_SENTENCES = frozenset({"ports"})

    ports: dict[str, Port] | None = optional(
        "The ports that the job leases, by name. Absent once it has ended.", human=HIDDEN
    )


class InList(Part):
    """Its ports."""

    ports: dict[str, int] | None = optional("The ports that the job leases: number by name.")
