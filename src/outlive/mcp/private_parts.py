"""Parts of other packages that their authors do not document and that the server leans on all the
same.

Any update of these packages may change the parts without notice. Each entry says why we need the
part and which test in tests/unit/test_private_parts.py fails when an update breaks it. Nothing else
in src/outlive/mcp touches a name of another package that begins with an underscore; that is tested
too.

* mcp, `session._connection`: see `connection_of`. Test:
  `test_the_sdk_ends_the_exit_stack_of_a_connection_with_it`.
* mcp, the logger `mcp.server.sse`: see `QUOTING_LOGGER`. Test:
  `test_the_sdk_logs_what_a_client_sent_under_this_name`.
* mcp, `ListenHandler` sends its acknowledgement through `ctx.session.send_notification`: the Tasks
  extension adds the ids of tasks there (push/tasks.py). Test:
  `test_the_sdk_acknowledges_a_stream_through_the_session`.
* mcp, `session._request_outbound`: see `is_cancelled`. Test:
  `test_the_sdk_tells_a_cancelled_request_from_a_connection_that_ended`.
* starlette, `request._send`: see `send_of`. Test: `test_starlette_keeps_the_send_of_a_request`.
* starlette, `Route.methods` may be assigned: see `serve_get_only`. Test:
  `test_a_route_that_serves_get_only_refuses_head`.
* uvicorn, `H11Protocol`: the base of http/connections.py, for its hooks `connection_made`,
  `on_response_complete` and `connection_lost`, and its attributes `app_state`, `transport` and
  `loop`. uvicorn documents `http=` as taking a class, but not what the class needs. Test:
  `test_uvicorns_protocol_has_the_hooks_and_attributes_that_connections_use`.
* uvicorn, `Server.main_loop`, `on_tick` and `handle_exit`: http/connections.py replaces the loop
  that wakes up ten times a second. Test:
  `test_uvicorns_server_sleeps_in_main_loop_and_is_ended_by_handle_exit`.
* uvicorn, `Config.ssl` and `Config.http_protocol_class`: see `terminate_tls_with`. Test:
  `test_uvicorn_makes_its_protocol_with_the_class_in_its_configuration`.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcp.server.connection import Connection

from outlive.mcp.caller import Request

if TYPE_CHECKING:
    import uvicorn
    from starlette.requests import Request as HttpRequest
    from starlette.routing import Route
    from starlette.types import Send
    from uvicorn.protocols.http.h11_impl import H11Protocol  # late: see above


__all__ = (
    "QUOTING_LOGGER",
    "H11Protocol",
    "connection_of",
    "is_cancelled",
    "send_of",
    "serve_get_only",
    "terminate_tls_with",
)

QUOTING_LOGGER = "mcp.server.sse"  # logs each message that is not valid, as an exception with the message in it


def connection_of(ctx: Request) -> Connection:
    """Return the connection of a request.

    Its exit stack alone tells that a client of the handshake era went away, and the SDK shows
    handlers no connection.
    """
    return ctx.session._connection


def is_cancelled(ctx: Request) -> bool:
    """Return whether the client has taken a request back with `notifications/cancelled`.

    The SDK cancels a handler for this and for the end of the connection alike, and shows the
    handler neither.
    """
    return ctx.session._request_outbound.cancel_requested.is_set()


def send_of(request: HttpRequest) -> Send:
    """Return the ASGI `send` of a request.

    The SDK's transport for SSE needs it, and starlette hands a route's function the request only.
    """
    return request._send


def serve_get_only(route: Route) -> None:
    """Answer HEAD with 405: starlette adds HEAD to GET, and the answer to it would be a stream
    without end."""
    route.methods = {"GET"}


def terminate_tls_with(config: uvicorn.Config, protocol: Callable[[ssl.SSLContext], Any]) -> None:
    """Let `protocol(context)` make the protocol of each connection, TLS included, instead of
    asyncio and uvicorn.

    uvicorn hands its TLS context to `loop.create_server` and cannot set the time-out of the
    handshake, a minute. `config` is loaded and has a certificate.
    """
    assert config.ssl is not None
    config.http_protocol_class = protocol(config.ssl)
    config.ssl = None


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import uvicorn's protocol at its first use (PEP 562): the server on stdio does without
        it and h11."""
        if name != "H11Protocol":
            raise AttributeError(name)
        from uvicorn.protocols.http.h11_impl import H11Protocol  # late: see above

        return H11Protocol
