"""What answers say of the ports of a job."""

from __future__ import annotations

from typing import Any

from outlive.answers import HIDDEN, Part, optional


class Leased(Part):
    """Its ports."""

    IN_SENTENCES = frozenset({"ports"})

    ports: dict[str, Any] | None = optional(
        "The ports that the job leases, by name: {port, url}. Absent once it has ended.", human=HIDDEN
    )


class InList(Part):
    """Its ports."""

    ports: dict[str, Any] | None = optional("The ports that the job leases: number by name.")
