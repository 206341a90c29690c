"""What a request may do with tasks: whether its client declares them, and which answers of exec become one.

Each request declares for itself. `Tasks` (tasks.py) says what follows from it.
"""

from __future__ import annotations

from collections.abc import Mapping

from mcp import MCPError, types
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

from outlive.answers.job import is_pending
from outlive.core.nearest import letters_of
from outlive.mcp.caller import Request, client_of
from outlive.parts.approvals.elicitation import can_ask
from outlive.parts.push import TASKS

_WAKES = frozenset({"claude-code"})  # clients that go on beside a task, and call their model at its end


def declared(ctx: Request) -> bool:
    """Return whether this request declares the extension. Protocols with a handshake have no shape for a task."""
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return False
    capabilities = ctx.session.client_capabilities
    return capabilities is not None and TASKS in (capabilities.extensions or {})


def is_task(ctx: Request, arguments: Mapping[str, object], answer: Mapping[str, object], *, exec_alone: bool) -> bool:
    """Return whether a call with these arguments, which made the job of this answer, is answered with a task
    (tasks.py). A job that waits for input may still be none."""
    pending = is_pending(answer)
    if not (pending or answer.get("state") == "running") or not declared(ctx):
        return False
    if exec_alone:
        return True
    # The call has checked that the value can be read
    if _BOOL.validate_python(_has(arguments, "background") or False) and not wakes(ctx):
        return False
    # With `until` the call was a task, and this is its answer
    return can_ask(ctx) if pending else not _has(arguments, "until")


def require(ctx: Request) -> None:
    """Refuse a request of a protocol with a handshake (method not found), or without the extension (-32021)."""
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        raise MCPError(types.METHOD_NOT_FOUND, "Method not found", data=ctx.method)
    if not declared(ctx):
        needed: dict[str, object] = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "Missing required client capability", data=needed)


def check(ctx: Request, task_id: str) -> None:
    """Refuse what `require` refuses, and over HTTP an Mcp-Name header, by which proxies route, that does not name the
    task (-32020)."""
    require(ctx)
    headers = getattr(ctx.request, "headers", None)  # the HTTP request; None on stdio
    if headers is not None and decode_header_value(headers.get(MCP_NAME_HEADER)) != task_id:
        raise MCPError(types.HEADER_MISMATCH, f"{MCP_NAME_HEADER} header does not match the request body's 'taskId'")


_BOOL = TypeAdapter(bool)


def wakes(ctx: Request) -> bool:
    """Return whether this client looks for the end of a task by itself, and calls its model then."""
    return client_of(ctx) in _WAKES


def _has(arguments: Mapping[str, object], wanted: str) -> object:
    """Return the value of an argument, in any spelling; None if it is not given."""
    return next((value for name, value in arguments.items() if letters_of(name) == wanted and value), None)
