"""Private parts of the SDK, of starlette and of uvicorn that are used over HTTP do what is expected of them."""

from __future__ import annotations

import asyncio
import inspect
import signal
from typing import Any

import anyio
import uvicorn
from mcp.server import sse
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from heart.mcp.test_private_parts import named_in
from outlive.parts.http import private_parts as of_http
from support.mcp_client import BOUND_S


def test_the_sdk_logs_what_a_client_sent_under_this_name() -> None:
    assert sse.logger.name == of_http.QUOTING_LOGGER
    assert 'logger.exception("Failed to parse message")' in inspect.getsource(sse)


def test_starlette_keeps_the_send_of_a_request() -> None:
    async def send(_message: Any) -> None: ...

    async def receive() -> Any: ...

    assert of_http.send_of(Request({"type": "http"}, receive, send)) is send


def test_a_route_that_serves_get_only_refuses_head() -> None:
    async def answer(_request: Request) -> Response:
        return Response()

    route = Route("/", answer, methods=["GET"])
    assert _status(route, "HEAD") == 200
    of_http.serve_get_only(route)
    assert (_status(route, "HEAD"), _status(route, "GET")) == (405, 200)


def _status(route: Route, method: str) -> int:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": "/", "query_string": b"", "headers": []}
    anyio.run(Starlette(routes=[route]), scope, receive, send)
    status: int = sent[0]["status"]
    return status


class _Noted(H11Protocol):
    """Notes which hooks were called, and what it then knows."""

    called: list[str]

    def connection_made(self, transport: Any) -> None:
        self.called = ["made"]
        super().connection_made(transport)
        assert self.transport is transport
        assert self.loop is asyncio.get_running_loop()
        self.app_state = {**self.app_state, "mark": 1}  # reaches the scope of each request
        made.append(self)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.called.append("complete")

    def connection_lost(self, exc: Exception | None) -> None:
        self.called.append("lost")
        super().connection_lost(exc)


made: list[_Noted] = []


async def _answers(scope: Any, _receive: Any, send: Any) -> None:
    assert scope["state"]["mark"] == 1
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def _exchange(config: uvicorn.Config, server: uvicorn.Server) -> bytes:
    """One request to a server that is ended afterwards by `handle_exit`; its answer."""
    async with asyncio.timeout(BOUND_S), asyncio.TaskGroup() as group:
        with _listener() as listener:
            running = group.create_task(server.serve(sockets=[listener]))
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
            answer = await reader.read()
            writer.close()
            server.handle_exit(signal.SIGCHLD, None)  # raised again at the end, and ignored by default
            await running
    return answer


def _listener() -> Any:
    import socket

    return socket.create_server(("127.0.0.1", 0))


def _configuration(**how: Any) -> uvicorn.Config:
    found = uvicorn.Config(_answers, lifespan="off", log_config=None, ws="none", loop="asyncio", **how)
    found.load()
    return found


def test_uvicorns_protocol_has_the_hooks_and_attributes_that_connections_use() -> None:
    config = _configuration(http=_Noted)
    answer = asyncio.run(_exchange(config, uvicorn.Server(config)))
    assert answer.startswith(b"HTTP/1.1 204")
    assert made.pop().called == ["made", "complete", "lost"]


def test_uvicorn_makes_its_protocol_with_the_class_in_its_configuration() -> None:
    config: Any = _configuration(http=H11Protocol)
    config.ssl = "a context"
    given = []

    def protocol(context: Any) -> Any:
        given.append(context)
        return _Noted

    of_http.terminate_tls_with(config, protocol)
    answer = asyncio.run(_exchange(config, uvicorn.Server(config)))
    assert given == ["a context"]
    assert answer.startswith(b"HTTP/1.1 204")  # in plain text: asyncio was given no context
    assert made.pop()


def test_uvicorns_server_sleeps_in_main_loop_and_is_ended_by_handle_exit() -> None:
    ticks = []

    class Sleeping(uvicorn.Server):
        async def main_loop(self) -> None:
            self.ending = asyncio.Event()
            ticks.append(await self.on_tick(0))
            await self.ending.wait()

        def handle_exit(self, sig: int, frame: Any) -> None:
            super().handle_exit(sig, frame)
            assert self.should_exit
            self.ending.set()

    config = _configuration(http=_Noted)
    server = Sleeping(config)
    assert asyncio.run(_exchange(config, server)).startswith(b"HTTP/1.1 204")
    assert ticks == [False]  # nothing ends it yet
    assert made.pop()


def test_each_private_part_names_a_test_that_is_here() -> None:
    named = named_in(of_http)
    assert len(named) == 6 and not [name for name in named if not callable(globals().get(name))]
