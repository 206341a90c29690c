"""Threads for the work of calls that takes long, shared between the callers.

No caller gets more than its share, and the next free thread goes to the caller that has fewest: so
no number of calls of one caller keeps another caller waiting for longer than a turn lasts. A thread
that nothing waits for any more counts until its work has ended.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

_AT_ONCE = 4
_SHARE = 2


class Threads:
    """The threads of one server. They start when they are first needed."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_AT_ONCE, "outlive")
        self._running: Counter[str] = Counter()
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []  # the longest first

    async def start(self, caller: str, work: Callable[[], T]) -> asyncio.Future[T]:
        """Wait for a thread, and return the future of the work in it."""
        await self._turn_of(caller)
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        future.add_done_callback(lambda done: self._ended(caller, done))
        return future

    async def _turn_of(self, caller: str) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((caller, turn))
        self._give()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._waiting.remove((caller, turn))
            else:  # the thread was given to it just before
                self._free(caller)
            raise

    def _give(self) -> None:
        """Give the free threads to those that wait."""
        while self._running.total() < _AT_ONCE:
            due = [one for one in self._waiting if self._running[one[0]] < _SHARE and not one[1].done()]
            if not due:
                return
            chosen = min(due, key=lambda one: self._running[one[0]])
            self._waiting.remove(chosen)
            self._running[chosen[0]] += 1
            chosen[1].set_result(None)

    def _ended(self, caller: str, done: asyncio.Future[T]) -> None:
        if not done.cancelled():
            done.exception()  # it is known, though the call that would raise it may be gone
        self._free(caller)

    def _free(self, caller: str) -> None:
        self._running[caller] -= 1
        if not self._running[caller]:
            del self._running[caller]
        self._give()
