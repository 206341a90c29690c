"""How an action waits without knowing whether it runs in a command line or in an event loop.

An action that may have to wait is a generator: it yields a `Pause` (readable when something may have changed, and a
deadline) and is resumed when either came. `drive` does that with poll(2); the MCP server does the same with its event
loop. Closing the generator is how a call is cancelled; its `finally` blocks give back what it held, the job goes on.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any, TypeVar

    _T = TypeVar("_T")
    Waiting = Generator["Pause", None, _T]


class Pause:
    """Until one of `fds` is readable, or `deadline` (time.monotonic seconds, None: without limit)."""

    __slots__ = ("fds", "deadline")

    def __init__(self, fds: tuple[int, ...], deadline: float | None) -> None:
        self.fds = fds
        self.deadline = deadline

    def timeout_s(self) -> float | None:
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())


def is_waiting(found: Any) -> bool:
    """Did an action return a generator that has to be driven?"""
    return hasattr(found, "send") and hasattr(found, "close")


def drive(found: Any) -> Any:
    """The result of an action, waiting in poll(2) where it asks for it."""
    if not is_waiting(found):
        return found
    try:
        pause = next(found)
        while True:
            _sleep(pause)
            pause = found.send(None)
    except StopIteration as stop:
        return stop.value
    finally:
        found.close()


def _sleep(pause: Pause) -> None:
    import select  # late: most calls wait for nothing

    timeout = pause.timeout_s()
    poller = select.poll()
    for fd in pause.fds:
        poller.register(fd, select.POLLIN)
    # poll(2) takes an int of milliseconds; rounding up keeps the last fraction from spinning
    poller.poll(None if timeout is None else min(int(timeout * 1000) + 1, 2**31 - 1))
