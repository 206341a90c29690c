"""Parts of other packages that their authors do not document and that the server leans on all the
same.

Any update of these packages may change the parts without notice. Each says why we need it and which
test in tests/unit/test_private_parts.py fails when an update breaks it. Nothing else in
src/outlive/mcp touches a name of another package that begins with an underscore; that is tested too.
Used elsewhere:

* uvicorn, `H11Protocol`: the base of http/connections.py, for its hooks `connection_made`,
  `on_response_complete` and `connection_lost`, and its attributes `app_state`, `transport` and
  `loop`. uvicorn documents `http=` as taking a class, but not what the class needs. Test:
  `test_uvicorns_protocol_has_the_hooks_and_attributes_that_connections_use`.
* uvicorn, `Server.main_loop`, `on_tick` and `handle_exit`: http/connections.py replaces the loop
  that wakes up ten times a second. Test:
  `test_uvicorns_server_sleeps_in_main_loop_and_is_ended_by_handle_exit`.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any

import uvicorn
from mcp.server.connection import Connection
from starlette.requests import Request as HttpRequest
from starlette.routing import Route
from starlette.types import Send

from outlive.mcp.caller import Request

# Logs each message that is not valid, as an exception with the message in it. Test:
# `test_the_sdk_logs_what_a_client_sent_under_this_name`
QUOTING_LOGGER = "mcp.server.sse"


def connection_of(ctx: Request) -> Connection:
    """Return the connection of a request.

    Its exit stack alone tells that a client of the handshake era went away, and the SDK shows
    handlers no connection. Test: `test_the_sdk_ends_the_exit_stack_of_a_connection_with_it`.
    """
    return ctx.session._connection


def is_cancelled(ctx: Request) -> bool:
    """Return whether the client has taken a request back with `notifications/cancelled`.

    The SDK cancels a handler for this and for the end of the connection alike, and shows the
    handler neither. Test: `test_the_sdk_tells_a_cancelled_request_from_a_connection_that_ended`.
    """
    return ctx.session._request_outbound.cancel_requested.is_set()


def send_of(request: HttpRequest) -> Send:
    """Return the ASGI `send` of a request, which starlette hands to no route's function: the SDK's transport for SSE
    needs it. Test: `test_starlette_keeps_the_send_of_a_request`."""
    return request._send


def serve_get_only(route: Route) -> None:
    """Answer HEAD with 405: starlette adds HEAD to GET, and the answer to it would be a stream without end. Test:
    `test_a_route_that_serves_get_only_refuses_head`."""
    route.methods = {"GET"}


def terminate_tls_with(config: uvicorn.Config, protocol: Callable[[ssl.SSLContext], Any]) -> None:
    """Let `protocol(context)` make the protocol of each connection, TLS included, instead of
    asyncio and uvicorn.

    uvicorn hands its TLS context to `loop.create_server` and cannot set the time-out of the
    handshake, a minute. `config` is loaded and has a certificate. Test:
    `test_uvicorn_makes_its_protocol_with_the_class_in_its_configuration`.
    """
    assert config.ssl is not None
    config.http_protocol_class = protocol(config.ssl)
    config.ssl = None
