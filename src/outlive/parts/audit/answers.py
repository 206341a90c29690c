"""The answer of audit."""

from __future__ import annotations

from typing import Annotated

from outlive.answers import TIME, Answer, Fields, field, maybe, optional
from outlive.answers.job import HINT


class _Entry(Fields):
    """Something that was done: who, over which face and token, what, where."""

    SCHEMA = {"additionalProperties": True}  # the members of each verb: docs/reference/configuration.md

    id: str = field("The entry's own id.")
    at: str = field("When.", format=TIME)
    verb: str = field("The verb; end: a job ended.")
    job_id: str | None = optional("The job.")
    token: str | None = optional("The name of the token, over HTTP.")
    outcome: dict[str, object] | None = maybe(
        "Of a start: how its job ended, or how it is now; null: not known any more."
    )


Entry = Annotated[dict[str, object], _Entry]


class Audit(Answer):  # of audit
    to: str = field("Where it is recorded now who did what.", enum=["file", "syslog", "off"])
    path: str = field("The file of the record.")
    required: bool = field("Is what cannot be recorded not done?")
    entries: list[Entry] = field("The entries, the newest first.")
    next_before: str | None = field("Pass it as --before for older entries; null: there are none.")
    unreadable: int = field("Lines met that are no entries: cut by a full disk, or written by another program.")
    hint: str | None = HINT
