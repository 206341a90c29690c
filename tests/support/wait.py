"""Waiting on a condition, never on a length of time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Generic, Literal, TypeVar

import anyio

T = TypeVar("T")
POLL_S = 0.01
_NOT_THERE = (FileNotFoundError, ProcessLookupError, LookupError, json.JSONDecodeError)
BOUND_S = 60  # a bound for what comes in a second, on a machine that does thirty things at once


class _Look(Generic[T]):
    """`now()`: what the condition is; AssertionError naming `what` if it is not so and the time was over before this look.

    A condition may read what comes while it waits: a file, a document that another process is writing, a process, an item,
    a member. What is not there yet, or not whole, is a condition that is not so yet; after the time its exception is
    raised as it is.
    """

    def __init__(self, condition: Callable[[], T | Literal[False] | None], timeout: float, what: str) -> None:
        self._condition, self._timeout, self._what = condition, timeout, what
        self._deadline = time.monotonic() + timeout
        self._took = 0.0

    def now(self) -> T | Literal[False] | None:
        begun = time.monotonic()
        overdue = begun > self._deadline  # before the look: a last look always follows the deadline
        try:
            found = self._condition()
        except _NOT_THERE:
            if overdue:
                raise
            found = None
        self._took = time.monotonic() - begun
        if overdue and not found:
            raise AssertionError(f"{self._what}: not so within {self._timeout} s (last look: {found!r})")
        return found

    def pause(self) -> float:
        """Return the seconds until the next look. A look that starts a process takes a core from what it waits for, and
        from other tests."""
        return max(POLL_S, 2 * self._took)


def until(
    condition: Callable[..., T | Literal[False] | None], timeout: float = BOUND_S, what: str = "the condition"
) -> T:
    """What `condition()` returned when it first was true. AssertionError naming `what` after `timeout` seconds."""
    look = _Look(condition, timeout, what)
    while not (found := look.now()):
        time.sleep(look.pause())
    return found


async def until_async(
    condition: Callable[..., T | Literal[False] | None], timeout: float = BOUND_S, what: str = "the condition"
) -> T:
    """The same in an event loop, whose other tasks go on."""
    look = _Look(condition, timeout, what)
    while not (found := look.now()):
        await anyio.sleep(look.pause())
    return found
