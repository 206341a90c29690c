"""Connections without a request that was let in are closed: uvicorn alone would wait for ever for the rest of a header, for
the rest of a body that was refused already, and for a client to take its answer, and a minute for TLS to begin; whoever opens
a thousand of them would keep everybody else out.
"""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any, Protocol

import uvicorn

from outlive import limits
from outlive.mcp.private_parts import H11Protocol

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping
    from types import FrameType

# In the `state` of a request's scope
ABORT = "abort"  # ends its connection at once
ADMITTED = "admitted"  # called when somebody answers for this request: from here on the door sees to its time


class _Waits(Protocol):
    known: bool  # did somebody answer for a request of it?

    def end(self) -> None: ...


def tell(scope: Mapping[str, Any], what: str) -> None:
    """Call what the connection has put into its requests' scopes; other servers' connections have not."""
    tell = scope.get("state", {}).get(what)
    if tell is not None:
        tell()


_waiting: dict[_Waits, asyncio.TimerHandle] = {}  # oldest first


def _wait(one: _Waits, late: Callable[[], None]) -> None:
    """Bound the time of one that has no request, and the number of such: the oldest goes, of strangers or of those that
    are kept for a next request, whichever there are more of."""
    _arrived(one)
    if len(_waiting) >= limits.HTTP_WAITING:
        known = sum(other.known for other in _waiting) * 2 > len(_waiting)
        next(other for other in _waiting if other.known == known).end()
    _waiting[one] = asyncio.get_running_loop().call_later(limits.HTTP_IDLE_S, late)


def _arrived(one: _Waits) -> None:
    timer = _waiting.pop(one, None)
    if timer is not None:
        timer.cancel()


class Connection(H11Protocol):
    """A connection that has to bring a request of somebody's in time."""

    known = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # The door ends connections whose client takes nothing: closing them would wait for it to take what is left
        self.app_state = {**self.app_state, ABORT: transport.abort, ADMITTED: self._admitted}
        self._wait()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        _arrived(self)
        super().connection_lost(exc)

    def end(self) -> None:
        _arrived(self)
        self.transport.abort()

    def _admitted(self) -> None:
        self.known = True
        _arrived(self)

    def _wait(self) -> None:
        # From here on no byte that comes moves the deadline: they could come one by one, for ever
        self._unsent = self.transport.get_write_buffer_size()
        _wait(self, self._late)

    def _late(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        if 0 < unsent < self._unsent:  # it is slow, but it takes its answer
            self._unsent = unsent
            _waiting[self] = self.loop.call_later(limits.HTTP_IDLE_S, self._late)
        else:
            self.end()


class SecureConnection(asyncio.Protocol):
    """A connection that has to agree on TLS first. asyncio would tell of it only when it has, so it is done here."""

    known = False

    def __init__(self, context: ssl.SSLContext, **how: Any) -> None:
        """`how`: what uvicorn makes a `Connection` of."""
        self._context = context
        self._how = how

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        _wait(self, self.end)
        self._task = asyncio.get_running_loop().create_task(self._agree())

    def end(self) -> None:
        self._task.cancel()
        self._transport.abort()
        _arrived(self)

    async def _agree(self) -> None:
        early = _Early()
        try:
            secure = await asyncio.get_running_loop().start_tls(
                self._transport, early, self._context, server_side=True, ssl_handshake_timeout=limits.HTTP_IDLE_S
            )
        except OSError:  # ssl.SSLError and time-outs are some
            return
        finally:
            _arrived(self)
        assert secure is not None
        connection = Connection(**self._how)
        secure.set_protocol(connection)
        connection.connection_made(secure)
        if early.data:
            connection.data_received(bytes(early.data))
        if early.lost:
            connection.connection_lost(None)


class _Early(asyncio.Protocol):
    """What comes together with the end of the agreement."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.lost = False

    def data_received(self, data: bytes) -> None:
        self.data += data

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True


class Server(uvicorn.Server):
    """Sleeps until it is to end: uvicorn's own looks ten times a second whether it is, and what time it is for a header that
    is not sent."""

    ended_by: int | None = None  # the signal
    _ending: asyncio.Event | None = None

    async def main_loop(self) -> None:
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        await self.on_tick(0)
        if not self.should_exit:  # a signal may have come before there was anybody to tell
            await self._ending.wait()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # uvicorn would raise the signal again before the caller has cleaned up
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit, self.ended_by = True, sig
        if self._ending is not None:
            self._loop.call_soon_threadsafe(self._ending.set)
