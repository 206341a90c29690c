"""Wait inside a verb, which is a plain function that blocks.

A command line calls the verb directly. A server runs each call in a thread of its own, as a `Call`
that any other thread may cancel: where it waits, or comes to a `checkpoint`, it raises `Cancelled`. The
`with` and `finally` blocks on its way give back what the verb held; the job goes on.

Work that takes long passes checkpoints. From its first one on it has one of the few turns of its caller,
until it waits or ends: threads that compute would hold up every system call of the others.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from contextvars import ContextVar
from threading import Lock, Semaphore
from typing import Self, TypeVar

_T = TypeVar("_T")


_SHORT_S = 0.5  # how long a command line waits before it loads what its answer may need
_MOST_MS = 2**31 - 1  # poll(2) takes an int
_SOON_S, _LATER_S = 0.02, 0.25
_TURN_S = 0.05  # between two looks at whether a call that waits for its turn was cancelled
_load: Callable[[], None] | None = None  # what it loads, until it has
_load_at = 0.0  # time.monotonic seconds
_call: ContextVar[Call | None] = ContextVar("call", default=None)  # each thread begins without one


class Cancelled(BaseException):
    """The caller has taken its call back. No `except Exception` catches it."""


class Call:
    """A call that another thread may cancel. `with` makes it the call of the thread that runs it.

    `lock`: one of its own. `turns`: how much of its caller's work is done at a time. A command line makes no
    call, and loads no `threading`, which takes 0.6 ms."""

    def __init__(self, lock: Lock, turns: Semaphore | None = None) -> None:
        self._turns = turns
        self._has_turn = turns is None
        self._fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)  # readable once the call is cancelled
        self._lock = lock  # so that no fd is written to after it was closed
        self.is_cancelled = False

    def cancel(self) -> None:
        with self._lock:
            self.is_cancelled = True
            if self._fd >= 0:
                os.eventfd_write(self._fd, 1)

    def fileno(self) -> int:
        return self._fd

    def __enter__(self) -> Self:
        _call.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _call.set(None)
        self.rest()
        self.close()

    def work(self) -> None:
        """Wait for a turn to work, once. Errors: Cancelled."""
        while not self.is_cancelled:
            if self._has_turn:
                return
            assert self._turns is not None
            self._has_turn = self._turns.acquire(timeout=_TURN_S)
        raise Cancelled

    def rest(self) -> None:
        """Give the turn back."""
        if self._turns is not None and self._has_turn:
            self._turns.release()
            self._has_turn = False

    def close(self) -> None:
        with self._lock:
            os.close(self._fd)
            self._fd = -1


def pause(fds: tuple[int, ...] = (), deadline: float | None = None) -> None:
    """Wait until one of `fds` is readable or `deadline` (time.monotonic(); None: no limit) has passed. Errors: Cancelled."""
    call = _call.get()
    if call is not None:
        call.rest()
    poller = select.poll()
    for fd in fds if call is None else (*fds, call.fileno()):
        poller.register(fd, select.POLLIN)
    # Rounding up keeps the last fraction of a millisecond from spinning
    left_ms = None if deadline is None else min(max(0, int((deadline - time.monotonic()) * 1000) + 1), _MOST_MS)
    poll(poller, left_ms)
    if call is not None and call.is_cancelled:
        raise Cancelled


def load_before_long_waits(load: Callable[[], None]) -> None:
    """Call `load` once if this process, a command line, still waits in half a second: an update of outlive may replace
    the files before it ends, and what it needs then is to be loaded."""
    global _load, _load_at
    _load, _load_at = load, time.monotonic() + _SHORT_S


def poll(poller: select.poll, left_ms: int | None) -> list[tuple[int, int]]:
    """Wait as `poller.poll(left_ms)` does."""
    global _load
    if _load is not None:
        short_ms = max(0, int((_load_at - time.monotonic()) * 1000))
        if left_ms is not None and left_ms < short_ms:
            return poller.poll(left_ms)
        ready = poller.poll(short_ms) if short_ms else []
        if ready:
            return ready
        load, _load = _load, None
        load()
        left_ms = None if left_ms is None else left_ms - short_ms
    return poller.poll(left_ms)


class Looks:
    """When to look again at what no event tells of, a file of another program or a port: at growing
    intervals, in the end four times a second."""

    def __init__(self) -> None:
        self._wait_s = _SOON_S

    def next(self) -> float:
        """Return when to look next (time.monotonic seconds)."""
        wait_s, self._wait_s = self._wait_s, min(self._wait_s * 1.5, _LATER_S)
        return time.monotonic() + wait_s


def checkpoint() -> None:
    """Work that takes long comes here again and again: it waits for its turn the first time, and ends if
    its call was cancelled. Errors: Cancelled."""
    call = _call.get()
    if call is not None:
        call.work()


def in_turn(work: Callable[[], _T]) -> _T:
    """Return what work that takes long, and passes no checkpoint, returns. Errors: Cancelled."""
    checkpoint()
    return work()
