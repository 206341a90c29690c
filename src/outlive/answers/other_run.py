"""Another run of the same command, as an answer has it."""

from __future__ import annotations

from outlive.answers import Fields, field, optional


class OtherRun(Fields):
    """Another run, and what differs from it."""

    job_id: str = field("Its job.")
    exit_code: int | None = field(
        "Its exit code; null: it was ended by a signal, or its end is not known.", minimum=None
    )
    ago_ms: int | None = field("How long ago it ended; null: it has not, or its end is not known.")
    gone: int | None = optional("How many kinds of what it printed are not printed here.")
    new: int | None = optional("How many kinds of what is printed here it did not print.")
    names: list[str] | None = optional("The failures that are gone, if they are few.")
    different: bool | None = optional("True: this run failed otherwise, and may not have come to what failed before.")
