"""What answers say of the group of a job."""

from __future__ import annotations

from outlive.answers import Fields, optional


class Grouped(Fields):
    """Its group."""

    group: str | None = optional("The name of the group that the job is in.")
