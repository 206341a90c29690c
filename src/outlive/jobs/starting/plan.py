"""What is to be started: a definition, and what of a job no file holds; and when its call is answered."""

from __future__ import annotations

import os
from collections.abc import Sequence

from outlive.core.record import Record, Value
from outlive.core.records import Definition


class Plan(Record, frozen=False):
    """What is to be started."""

    definition: Definition
    overrides: dict[str, str]  # the variables on top of the inherited environment
    stdin_data: bytes | None = None
    stdin_fd: int | None = None
    script: bytes | None = None  # that is to be stored
    hint: str | None = None

    @property
    def files(self) -> dict[str, int]:
        """The open files that a supervisor of the job gets, by their names (supervisor/fork_protocol.py)."""
        return {} if self.stdin_fd is None else {"stdin": self.stdin_fd}

    def close(self) -> None:
        """Close the file that the job was to read; a supervisor that has got it keeps its own."""
        if self.stdin_fd is not None:
            os.close(self.stdin_fd)
            self.stdin_fd = None


class Timing(Value):
    """When a call that starts a job is answered, and how much output the answer shows: `WAITING` and `SHOWN` of
    verbs/shared_args.py."""

    yield_ms: int
    until: Sequence[object] = ()
    background: bool | None = False  # None: as the job was started before
    wait: bool = False
    follow: bool = False
    propagate: bool = False
    wait_poll_ms: int | None = None
    tail_lines: int = 0
    max_bytes: int | None = None
    raw: bool = False
    show: str | None = None
