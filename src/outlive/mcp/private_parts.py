"""Parts of the SDK that its authors do not document and that the server leans on all the same.

Any update of a package may change such parts without notice. Each says why we need it and which test in
tests/heart/mcp/test_private_parts.py fails when an update breaks it. Those of a part of outlive are in its own private_parts.py.
Nothing else in src/outlive/mcp touches a name of another package that begins with an underscore; that is tested too.
"""

from __future__ import annotations

from outlive.mcp.caller import Request


def is_cancelled(ctx: Request) -> bool:
    """Return whether the client has taken a request back with `notifications/cancelled`.

    The SDK cancels a handler for this and for the end of the connection alike, and shows the
    handler neither. Test: `test_the_sdk_tells_a_cancelled_request_from_a_connection_that_ended`.
    """
    return ctx.session._request_outbound.cancel_requested.is_set()
