"""What a part adds to a server: requests of its own, and what is around the calls of the two tools.

An extension is made once for a server, and serves all of its clients. A call of one of the two tools meets its hooks in
this order: `run` is around the verb; `answered` comes when its answer is whole, with the notices of other jobs. A request
of another method, or a call of a tool of a part, meets neither.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, TypeAlias

from mcp import MCPError, types
from mcp.server.context import HandlerResult

from outlive.core.record import Value
from outlive.mcp.caller import Caller, CallerOf, Request
from outlive.mcp.tools.call import Around, Calls

Answer: TypeAlias = dict[str, object]  # the full envelope of a call


class Front(Value):
    """What an extension is made with. `result` makes the result of a tool of an answer, for the client of this name.
    `channel`: this option was given."""

    calls: Calls
    caller_of: CallerOf
    result: Callable[[Answer, str | None], types.CallToolResult]
    channel: bool = False


class Handler(Value):
    """What answers the requests of one method, whose params have this type. None leaves a request to the next part that
    has the method."""

    params: type[types.RequestParams]
    answer: Callable[[Request, Any], Awaitable[HandlerResult]]


class Call(Value):
    """A call of one of the two tools."""

    ctx: Request
    params: types.CallToolRequestParams
    caller: Caller


class Instead(Value):
    """A result that a call is answered with in place of its answer. `sent` is called with whether it has been written. The
    notices of other jobs come with the next answer."""

    result: HandlerResult
    sent: Callable[[bool], None] | None = None


Go: TypeAlias = Callable[[Around], Awaitable[Answer | Instead]]


class Extension:
    """What a part adds to one server. Each name has a default that adds nothing."""

    tools: Collection[str] = ()  # that it has, which no model calls

    def __init__(self, front: Front) -> None:
        pass

    def handlers(self) -> Mapping[str, Handler]:
        """Return what answers requests, by method. It is asked once, when the server is made. Not for `initialize`,
        `server/discover` and the methods of tools."""
        return {}

    async def call(self, params: types.CallToolRequestParams, caller: Caller) -> types.CallToolResult:
        """Answer a call of one of its tools. Errors: MCPError."""
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}.")

    async def run(self, call: Call, around: Around, go: Go) -> Answer | Instead:
        """Run a call of one of the two tools, which `go(around)` does. That returns the answer, also of a call that was
        refused or has failed, and raises only if the call is cancelled. What is around it may be replaced: what is
        called when it begins, whether a request waits for it. Where none waits, an answer is the only result."""
        return await go(around)

    def answered(self, call: Call, answer: Answer) -> None:
        """Take note of the answer that a call is about to get."""
