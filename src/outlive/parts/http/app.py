"""The server over HTTP: streamable HTTP at /mcp and SSE at /sse, behind checks and quotas."""

from __future__ import annotations

from collections.abc import Callable

from anyio.abc import TaskGroup
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from outlive import limits
from outlive.mcp.own_code import OwnCode
from outlive.parts.http import private_parts
from outlive.parts.http.allowed_hosts import AllowedHosts
from outlive.parts.http.auth import RequestChecks
from outlive.parts.http.connections import refused
from outlive.parts.http.delivery import OfStream, Posts, with_stream
from outlive.parts.http.quotas import MESSAGES, CallsAtOnce
from outlive.parts.http.sessions import Sessions
from outlive.parts.http.tokens import Tokens

STREAMABLE, SSE = "/mcp", "/sse"


def app(
    server: Server[TaskGroup],
    tokens: Tokens,
    hosts: AllowedHosts,
    *,
    stateless: bool = False,
    ended: Callable[[str], None] = lambda session: None,
    log: Callable[[str], None] = lambda line: None,
    verbose: bool = False,
) -> RequestChecks:
    """Return the ASGI application. `stateless`: clients of the handshake era get no session either, so that another
    replica may answer their next request; they then cannot subscribe to resources. `ended` is called with the id of
    each session that ends. `log` and `verbose`: see `RequestChecks`."""
    # RequestChecks does both checks, and knows more about where a connection came in
    checked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    server.middleware += [CallsAtOnce(), OwnCode(log)]
    sse = _Sse(server, checked)
    stream = Route(SSE, sse.stream, methods=["GET"])
    private_parts.serve_get_only(stream)
    streamable = StreamableHTTPSessionManager(
        server,
        stateless=stateless,
        max_request_body_size=limits.HTTP_BODY_BYTES,
        session_idle_timeout=limits.HTTP_SESSION_IDLE_S,
        max_sessions=limits.HTTP_SESSIONS,
        security_settings=checked,
    )
    sessions = Sessions(streamable.handle_request, ended)
    inside = Starlette(
        routes=[
            Route(STREAMABLE, sessions),
            Route(f"{STREAMABLE}/", sessions),
            stream,
            Route(MESSAGES, sse, methods=["POST"]),
        ],
        exception_handlers={404: _nothing_there},
        lifespan=lambda _app: streamable.run(),
    )
    # A redirect would name http behind a proxy that ends TLS, and the client would send its token there
    inside.router.redirect_slashes = False
    return RequestChecks(Posts(inside), tokens, hosts, log=log, verbose=verbose)


async def _nothing_there(_request: Request, _error: Exception) -> Response:
    return refused(404, f"There is nothing at this path: MCP is at {STREAMABLE} (streamable HTTP) and at {SSE} (SSE).")


class _Sse:
    """The transport of protocol 2024-11-05: one stream to the client, and one POST for each of its messages, which
    calls it."""

    def __init__(self, server: Server[TaskGroup], checked: TransportSecuritySettings) -> None:
        self._server = server
        self._streams: dict[str, OfStream] = {}  # by session
        self._transport = SseServerTransport(
            MESSAGES, security_settings=checked, max_request_body_size=limits.HTTP_BODY_BYTES
        )

    async def stream(self, request: Request) -> Response:
        stream = OfStream(private_parts.send_of(request), self._streams)
        try:
            async with self._transport.connect_sse(request.scope, request.receive, stream.send) as (read, write):
                await self._server.run(read, write, self._server.create_initialization_options())
        finally:
            stream.end()
        return Response()  # the stream was the answer; starlette requires one all the same

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._transport.handle_post_message(with_stream(scope, self._streams), receive, send)
