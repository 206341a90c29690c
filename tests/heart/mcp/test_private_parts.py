"""Private parts of other packages that the server leans on: an update of a package that changes one fails here, by name."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import signal
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from mcp import types
from mcp.client.client import Client
from mcp.server import sse
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

import outlive
from outlive.mcp import private_parts
from outlive.parts.http import private_parts as of_http
from outlive.parts.push import private_parts as of_push
from support.mcp_client import BOUND_S

SOURCE = Path(outlive.__file__).parent
OURS = {"self", "cls"}


def test_each_part_names_a_test_that_is_here() -> None:
    source = "".join(map(inspect.getsource, (private_parts, of_http, of_push)))
    named = re.findall(r"Test:\s+(?:#\s+)?`(\w+)`", source)
    assert len(named) == len(set(named)) >= 7
    assert not [name for name in named if not callable(globals().get(name))]


def test_no_other_module_of_the_server_touches_a_private_name_of_another_package() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}: {ast.unparse(node)}"
        for path in (SOURCE / "mcp").rglob("*.py")
        if path.name != "private_parts.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and re.match("_[a-z]", node.attr) and not _is_ours(node.value)
    ]
    assert not found


def _is_ours(owner: ast.expr) -> bool:
    name = ast.unparse(owner)
    return name in OURS or name in ("super()", "os")  # os._exit is documented


def test_the_sdk_ends_the_exit_stack_of_a_connection_with_it() -> None:
    ended: list[bool] = []

    async def prompts(
        ctx: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        stack = of_push.connection_of(ctx).exit_stack
        assert isinstance(stack, AsyncExitStack)
        stack.callback(ended.append, True)
        return types.ListPromptsResult(prompts=[])

    async def connect() -> None:
        async with Client(Server("test", on_list_prompts=prompts), mode="legacy") as client:
            await client.list_prompts()
            assert not ended

    anyio.run(connect)
    assert ended


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


def test_the_sdk_tells_a_cancelled_request_from_a_connection_that_ended() -> None:
    found: list[bool] = []
    begun = anyio.Event()

    async def prompts(
        ctx: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            found.append(private_parts.is_cancelled(ctx))
        raise AssertionError

    async def ask(client: Client, scope: anyio.CancelScope) -> None:
        with scope:
            await client.list_prompts()

    async def connect(*, cancels: bool) -> None:
        nonlocal begun
        begun = anyio.Event()
        asking = anyio.CancelScope()
        with anyio.CancelScope() as whole:
            server = Server("test", on_list_prompts=prompts)
            async with Client(server, mode="legacy") as client, anyio.create_task_group() as group:
                group.start_soon(ask, client, asking)
                await begun.wait()
                (asking if cancels else whole).cancel()

    anyio.run(partial(connect, cancels=True))
    anyio.run(partial(connect, cancels=False))
    assert found == [True, False]
