"""The client's side of the Tasks extension, as a client of the SDK declares it."""

from __future__ import annotations

from typing import Any, Literal

import anyio
from mcp import types
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim

from support.mcp_client import BOUND_S, McpSession

IDENTIFIER = "io.modelcontextprotocol/tasks"
OVER = ("completed", "cancelled", "failed")


class _Task(types.Result):
    task_id: str
    status: str
    status_message: str | None = None
    created_at: str
    last_updated_at: str
    ttl_ms: int | None
    poll_interval_ms: int | None = None


class Created(_Task):
    """What tools/call gives instead of a tool's result."""

    result_type: Literal["task"] = "task"


class Detailed(_Task):
    """What tasks/get gives."""

    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    input_requests: dict[str, Any] | None = None


class Ask(types.Request[dict[str, Any], str]):
    """tasks/get, tasks/update or tasks/cancel."""

    name_param = "taskId"


class TasksClient(ClientExtension):
    """Declares the extension. `call_tool` waits for a task's end, as the SDK means it; `start` gives the task itself."""

    identifier = IDENTIFIER

    def claims(self) -> list[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Created, resolve=_to_the_end)]


async def _to_the_end(created: Created, ctx: ClaimContext) -> types.CallToolResult:
    with anyio.fail_after(BOUND_S):
        while True:
            found = await ctx.session.send_request(_ask("tasks/get", created.task_id), Detailed)
            if found.status in OVER:
                return types.CallToolResult.model_validate(found.result)
            await anyio.sleep(0.02)


def _ask(method: str, task_id: str, **more: Any) -> Ask:
    return Ask(method=method, params={"taskId": task_id, **more})


def start(session: McpSession, command: Any, **arguments: Any) -> Any:
    """The answer of `exec` as it came: Created, or the tool's own result."""

    async def call(client: Any) -> Any:
        given = {"command": command, **arguments}
        return await client.session.call_tool("exec", given, allow_claimed=True)

    return session.ask(call)


def get(session: McpSession, task_id: str) -> Detailed:
    found = session.ask(lambda client: client.session.send_request(_ask("tasks/get", task_id), Detailed))
    assert isinstance(found, Detailed)
    return found


def tell(session: McpSession, method: str, task_id: str, **more: Any) -> dict[str, Any]:
    """tasks/cancel or tasks/update; the whole acknowledgement but for the server's own stamp."""
    found = session.ask(lambda client: client.session.send_request(_ask(method, task_id, **more), types.EmptyResult))
    told: dict[str, Any] = found.model_dump(by_alias=True, exclude_none=True)
    told.pop("_meta", None)
    return told
