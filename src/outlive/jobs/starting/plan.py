"""What is to be started: a definition, and what of a job no file holds."""

from __future__ import annotations

import os

from outlive.core.record import Record
from outlive.core.records import Definition


class Plan(Record, frozen=False, kw_only=False):
    """What is to be started."""

    definition: Definition
    overrides: dict[str, str]  # the variables on top of the inherited environment
    stdin_data: bytes | None = None
    stdin_fd: int | None = None
    script: bytes | None = None  # that is to be stored
    hint: str | None = None

    def close(self) -> None:
        """Close the file that the job was to read; a supervisor that has got it keeps its own."""
        if self.stdin_fd is not None:
            os.close(self.stdin_fd)
            self.stdin_fd = None
