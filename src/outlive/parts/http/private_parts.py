"""Private parts of the SDK, starlette and uvicorn that the HTTP server leans on, as in mcp/server.py. Used elsewhere:

* uvicorn, `H11Protocol`: the base of connections.py, for its hooks `connection_made`,
  `on_response_complete` and `connection_lost`, and its attributes `app_state`, `transport` and
  `loop`. uvicorn documents `http=` as taking a class, but not what the class needs. Test:
  `test_uvicorns_protocol_has_the_hooks_and_attributes_that_connections_use`.
* uvicorn, `Server.main_loop`, `on_tick` and `handle_exit`: connections.py replaces the loop
  that wakes up ten times a second. Test:
  `test_uvicorns_server_sleeps_in_main_loop_and_is_ended_by_handle_exit`.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Send

# Logs each message that is not valid, as an exception with the message in it. Test:
# `test_the_sdk_logs_what_a_client_sent_under_this_name`
QUOTING_LOGGER = "mcp.server.sse"


def send_of(request: Request) -> Send:
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
