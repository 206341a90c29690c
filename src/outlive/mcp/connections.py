"""Connections without a request that was let in are closed: uvicorn alone would wait for ever for the rest of a header, for
the rest of a body that was refused already, and for a client to take its answer; whoever opens a thousand of them would keep
everybody else out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from outlive import limits

if TYPE_CHECKING:
    import asyncio


# In the `state` of a request's scope
ABORT = "abort"  # ends its connection at once
ADMITTED = "admitted"  # called when somebody answers for this request: from here on the door sees to its time


class Connection(H11Protocol):
    """A connection that has to bring a request of somebody's in time. How many wait for one is bounded: the oldest goes."""

    _waiting: ClassVar[dict[Connection, asyncio.TimerHandle]] = {}  # oldest first

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, ABORT: transport.abort, ADMITTED: self._admitted}
        self._wait()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._admitted()
        super().connection_lost(exc)

    def _wait(self) -> None:
        # From here on no byte that comes moves the deadline: they could come one by one, for ever
        self._admitted()
        if len(self._waiting) >= limits.HTTP_WAITING:
            next(iter(self._waiting))._end()
        self._unsent = self.transport.get_write_buffer_size()
        self._waiting[self] = self.loop.call_later(limits.HTTP_IDLE_S, self._late)

    def _late(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        if 0 < unsent < self._unsent:  # it is slow, but it takes its answer
            self._unsent = unsent
            self._waiting[self] = self.loop.call_later(limits.HTTP_IDLE_S, self._late)
        else:
            self._end()

    def _admitted(self) -> None:
        timer = self._waiting.pop(self, None)
        if timer is not None:
            timer.cancel()

    def _end(self) -> None:
        self._admitted()
        self.transport.abort()
