"""Waiting on a condition, never on a length of time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
POLL_S = 0.01


def until(condition: Callable[[], T], timeout: float = 20, what: str = "the condition") -> T:
    """What `condition()` returned when it first was true. AssertionError naming `what` after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        overdue = time.monotonic() > deadline  # before the look: a last look always follows the deadline
        found = condition()
        if found:
            return found
        if overdue:
            raise AssertionError(f"{what}: not so within {timeout} s (last look: {found!r})")
        time.sleep(POLL_S)
