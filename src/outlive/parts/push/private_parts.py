"""The private part of the SDK that notifications lean on, as in mcp/server.py."""

from __future__ import annotations

from mcp.server.connection import Connection

from outlive.mcp.caller import Request


def connection_of(ctx: Request) -> Connection:
    """Return the connection of a request.

    Its exit stack alone tells that a client of the handshake era went away, and the SDK shows
    handlers no connection. Test: `test_the_sdk_ends_the_exit_stack_of_a_connection_with_it`.
    """
    return ctx.session._connection
