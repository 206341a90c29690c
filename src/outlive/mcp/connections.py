"""Connections that bring no request are closed: uvicorn alone would wait for ever for the rest of a header, and whoever
opens a thousand of them would keep everybody else out.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from outlive import limits

if TYPE_CHECKING:
    from types import FrameType


ABORT = "abort"  # in the `state` of a request's scope: ends its connection at once


class Connection(H11Protocol):
    """A connection that has to bring a whole request header in time. How many wait for one is bounded: the oldest goes."""

    _waiting: ClassVar[dict[Connection, asyncio.TimerHandle]] = {}  # oldest first

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # The door ends connections whose client takes nothing: closing them would wait for it to take what is left
        self.app_state = {**self.app_state, ABORT: transport.abort}
        self._look()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        super().connection_lost(exc)

    def _look(self) -> None:
        # Bytes that do not complete a header move no deadline: they could come one by one, for ever
        if self.transport.is_closing() or self.conn.their_state is not h11.IDLE:
            self._arrived()
        elif self not in self._waiting:
            if len(self._waiting) >= limits.HTTP_WAITING:
                next(iter(self._waiting))._end()
            self._waiting[self] = self.loop.call_later(limits.HTTP_IDLE_S, self._end)

    def _arrived(self) -> None:
        timer = self._waiting.pop(self, None)
        if timer is not None:
            timer.cancel()

    def _end(self) -> None:
        self._arrived()
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
