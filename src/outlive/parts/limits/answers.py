"""What answers say of what a job may use."""

from __future__ import annotations

from typing import Annotated, Any

from outlive.answers import FULL_ONLY, Fields, field, optional
from outlive.parts.limits.names import APPLIED


class _Resource(Fields):
    """One of it."""

    value: Any = field("How much: memory in bytes, cpu_time as a text with its unit.")
    applied: str | None = optional("What applies it since the start; not_supported: nothing does.", enum=[*APPLIED])
    why: str | None = optional("Why it is not supported, or what to know of how it is applied.")


Resource = Annotated[dict[str, object], _Resource]


class _Resources(Fields):
    """What a job may use."""

    cpus: Resource | None = optional("One of it.")
    memory: Resource | None = optional("One of it.")
    gpus: Resource | None = optional("One of it.")
    cpu_time: Resource | None = optional("One of it.")
    processes: Resource | None = optional("One of it.")
    nice: Resource | None = optional("One of it.")
    options: Resource | None = optional("One of it.")


Resources = Annotated[dict[str, object], _Resources]


class Given(Fields):
    """What the job may use."""

    resources: Resources | None = optional(
        "What the job may use, as asked for; absent where nothing was.", brief=FULL_ONLY
    )
