"""Wait in a function that does not know whether it runs in a command line or in an event loop.

A function that may have to wait is a generator. It yields a `Pause`, which holds descriptors and a
deadline, and is resumed when a descriptor is readable or the deadline has passed. `drive` waits
with poll(2); the MCP server waits in its event loop. Closing the generator cancels the call: its
`finally` blocks give back what it held, and the job goes on.

A function whose work may take long yields WORK again and again meanwhile, which waits for nothing:
the MCP server does such work in a thread, and gives other calls their turn at these points.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import TypeVar

    _T = TypeVar("_T")
    Waiting = Generator["Pause | None", None, _T]


WORK = None
_SOON_S, _LATER_S, _AT_FIRST_S = 0.05, 0.25, 10.0
# A call that waits for longer may be overtaken by an update of outlive: it holds what its answer may need
_SHORT_MS = 100
_ROOMS = tuple(
    f"outlive.{room}"
    for room in "core answers system sandbox store render reports supervisor launch jobs verbs cli".split()
)


class Pause:
    """A wait until one of `fds` is readable or `deadline` has passed (time.monotonic seconds; None:
    no limit)."""

    __slots__ = ("fds", "deadline")

    def __init__(self, fds: tuple[int, ...], deadline: float | None) -> None:
        self.fds = fds
        self.deadline = deadline

    def timeout_s(self) -> float | None:
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())


class Looks:
    """When to look again at a file that another process may write: 20 times a second for the first ten
    seconds, then four times."""

    __slots__ = ("_later_at",)

    def __init__(self) -> None:
        self._later_at = time.monotonic() + _AT_FIRST_S

    def next(self) -> float:
        """Return when to look next (time.monotonic seconds)."""
        now = time.monotonic()
        return now + (_SOON_S if now < self._later_at else _LATER_S)


def drive(call: Waiting[_T]) -> _T:
    """Return the result of a function that waits, in poll(2) at each of its pauses."""
    try:
        while True:
            pause = next(call)
            if pause is not WORK:
                _sleep(pause)
    except StopIteration as stop:
        result: _T = stop.value
        return result
    finally:
        call.close()


def hold_code() -> None:
    """Keep within reach what a call that lasts may still import."""
    from outlive.system import held_code

    held_code.hold(*_ROOMS)


def _sleep(pause: Pause) -> None:
    import select  # late: most calls wait for nothing

    timeout = pause.timeout_s()
    poller = select.poll()
    for fd in pause.fds:
        poller.register(fd, select.POLLIN)
    # poll(2) takes an int of milliseconds; rounding up keeps the last fraction from spinning
    timeout_ms = None if timeout is None else min(int(timeout * 1000) + 1, 2**31 - 1)
    if timeout_ms is None or timeout_ms > _SHORT_MS:
        if poller.poll(_SHORT_MS):
            return
        hold_code()
        timeout_ms = None if timeout_ms is None else timeout_ms - _SHORT_MS
    poller.poll(timeout_ms)
