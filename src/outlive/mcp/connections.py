"""Connections without a request that was let in are closed: uvicorn alone would wait for ever for the rest of a header, for
the rest of a body that was refused already, and for a client to take its answer; whoever opens a thousand of them would keep
everybody else out.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from outlive import limits

if TYPE_CHECKING:
    from types import FrameType


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


class Server(uvicorn.Server):
    """Sleeps until it is to end: uvicorn's own looks ten times a second whether it is, and what time it is for a header that
    is not sent."""

    _ending: asyncio.Event | None = None

    async def main_loop(self) -> None:
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        await self.on_tick(0)
        if not self.should_exit:  # a signal may have come before there was anybody to tell
            await self._ending.wait()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if self._ending is not None:
            self._loop.call_soon_threadsafe(self._ending.set)
