"""The answer of audit."""

from __future__ import annotations

from outlive.answers import Answer, field
from outlive.answers.job import HINT
from outlive.answers.named import Entry


class Audit(Answer):  # of audit
    to: str = field("Where it is recorded now who did what.", enum=["file", "syslog", "off"])
    path: str = field("The file of the record.")
    required: bool = field("Is what cannot be recorded not done?")
    entries: list[Entry] = field("The entries, the newest first.")
    next_before: str | None = field("Pass it as --before for older entries; null: there are none.")
    unreadable: int = field("Lines met that are no entries: cut by a full disk, or written by another program.")
    hint: str | None = HINT
