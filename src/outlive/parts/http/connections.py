"""Close connections that bring no admitted request in time, so that a thousand of them cannot shut out all clients.

uvicorn 0.54 has no limit that does this. It waits for ever for the rest of a header, for the rest of a body that was
refused already, and for a client to take its answer; any byte stops its `timeout_keep_alive` for good; and
`limit_concurrency` refuses everyone, so that strangers would shut out the clients that have a token.
"""

from __future__ import annotations

import asyncio
import json
import signal
import ssl
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import uvicorn
from starlette.responses import Response
from starlette.types import ASGIApp, Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from outlive import limits
from outlive.errors import invalid
from outlive.parts.http.private_parts import terminate_tls_with

# Functions in the `state` of a request's scope
ABORT = "abort"  # ends the connection at once
IS_LOST = "is_lost"  # returns whether the client has gone
UNSENT = "unsent"  # returns how many bytes the kernel has not taken yet
ADMITTED = "admitted"  # the request has a valid token: from here on quotas.py bounds its time


def call(scope: Scope, what: str) -> Any:
    """Call one of these of a request's connection."""
    return scope["state"][what]()


_waiting: dict[Connection | SecureConnection, asyncio.TimerHandle] = {}  # without an admitted request; oldest first


def _wait(one: Connection | SecureConnection, late: Callable[[], None]) -> None:
    """Call `late` if the connection brings no admitted request in time. Beyond a number of such connections the oldest
    is closed: of the strangers or of those that are kept for a next request, whichever are more."""
    _arrived(one)
    if len(_waiting) >= limits.HTTP_WAITING:
        known = sum(other.known for other in _waiting) * 2 > len(_waiting)
        next(other for other in _waiting if other.known == known).end()
    _waiting[one] = asyncio.get_running_loop().call_later(limits.HTTP_IDLE_S, late)


def _arrived(one: Connection | SecureConnection) -> None:
    timer = _waiting.pop(one, None)
    if timer is not None:
        timer.cancel()


class Connection(H11Protocol):
    """A connection that has to bring an admitted request in time."""

    known = False  # it has brought one before
    _is_lost = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # quotas.py aborts a connection whose client takes nothing: a close would wait for the
        # client
        self.app_state = {
            **self.app_state,
            ABORT: transport.abort,
            ADMITTED: self._admitted,
            IS_LOST: lambda: self._is_lost,
            UNSENT: transport.get_write_buffer_size,
        }
        self._wait()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_lost = True
        _arrived(self)
        super().connection_lost(exc)

    def end(self) -> None:
        _arrived(self)
        self.transport.abort()

    def _admitted(self) -> None:
        self.known = True
        _arrived(self)

    def _wait(self) -> None:
        # No further byte moves the deadline: bytes could come one by one, for ever
        self._unsent = self.transport.get_write_buffer_size()
        _wait(self, self._late)

    def _late(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        if 0 < unsent < self._unsent:  # the client is slow, but it takes its answer
            self._unsent = unsent
            _waiting[self] = self.loop.call_later(limits.HTTP_IDLE_S, self._late)
        else:
            self.end()


class SecureConnection(asyncio.Protocol):
    """A connection that has to agree on TLS first. The handshake is done here: asyncio would show the connection only
    after it."""

    known = False

    def __init__(self, context: ssl.SSLContext, **how: Any) -> None:
        """`how`: uvicorn's arguments of a `Connection`."""
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
        except OSError:  # ssl.SSLError and time-outs among them
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
    """Keeps data that comes together with the end of the handshake."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.lost = False

    def data_received(self, data: bytes) -> None:
        self.data += data

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True


class Server(uvicorn.Server):
    """Sleeps until a signal comes. uvicorn's own loop wakes up ten times a second, to look for the signal and to renew
    a date header that we do not send."""

    ended_by: int | None = None  # the signal
    _ending: asyncio.Event | None = None

    async def main_loop(self) -> None:
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        await self.on_tick(0)
        if not self.should_exit:  # no signal came before the event existed
            await self._ending.wait()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # uvicorn would raise the signal again before the caller has cleaned up
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit, self.ended_by = True, sig
        if self._ending is not None:
            self._loop.call_soon_threadsafe(self._ending.set)


def refused(status: int, message: str, *, retry_s: float | None = None) -> Response:
    """Return an answer that an MCP client can show: a JSON-RPC error that belongs to no request. `retry_s` becomes a
    Retry-After header of at least 1 s."""
    headers = {} if retry_s is None else {"Retry-After": str(max(1, round(retry_s)))}
    body: dict[str, object] = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": message}}
    return Response(json.dumps(body), status_code=status, media_type="application/json", headers=headers)


def server(
    application: ASGIApp,
    *,
    lifespan: bool,
    prefix: str = "",
    certfile: str | None = None,
    keyfile: str | None = None,
) -> Server:
    """Return a server of an application. `lifespan`: it wants to know of its start and end. Errors: invalid_argument
    for a certificate that cannot be read."""
    config = uvicorn.Config(
        application,
        http=Connection,
        ws="none",
        loop="asyncio",
        lifespan="on" if lifespan else "off",
        log_config=None,
        access_log=False,  # it would log query strings
        proxy_headers=False,  # any client can send them
        server_header=False,
        date_header=False,
        root_path=prefix,
        ssl_certfile=certfile,
        ssl_keyfile=keyfile,
        h11_max_incomplete_event_size=limits.HTTP_HEADER_BYTES,
        timeout_keep_alive=int(limits.HTTP_IDLE_S),
        timeout_graceful_shutdown=limits.HTTP_SHUTDOWN_S,
    )
    try:
        config.load()
    except OSError as error:  # ssl.SSLError is one
        raise invalid("certfile", f"while reading the certificate: {error}") from error
    if config.ssl is not None:
        terminate_tls_with(config, lambda context: partial(SecureConnection, context))
    return Server(config)
