"""The tools that the scenarios of the Tasks extension call: each is a job behind the product's own `exec`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcp import types

from conformance.content import Request, tool
from outlive.mcp.tools.offer import EXEC, PROCESS
from outlive.parts.push import task_requests
from outlive.store.job_dir import EVENTS, STATE

FAILING, DAMAGED, ASKS_FIRST = "failing_job", "protocol_error_job", "test_tool_with_task"
NEEDS_TASKS = {FAILING, DAMAGED, ASKS_FIRST}
PATIENT_MS, BRIEF_MS = 20_000, 50
ASK = 'printf "%s " "$1"; read answer; echo "$2: $answer"'

Call = Callable[[Request, types.CallToolRequestParams], Awaitable[Any]]


def _asking(question: str, told: str) -> dict[str, Any]:
    return {"command": ["sh", "-c", ASK, "sh", question, told], "stdin": "open", "yield_ms": PATIENT_MS}


# What stands behind a tool: the arguments of `exec`
JOBS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "greet": lambda given: {"command": ["echo", f"Hello, {given['name']}!"], "yield_ms": PATIENT_MS},
    "slow_compute": lambda given: {
        "command": ["sh", "-c", 'sleep "$1"; echo "computed $2"', "sh", str(given["seconds"]), given.get("label", "")],
        "yield_ms": BRIEF_MS,
    },
    FAILING: lambda given: {"command": "sleep 0.3; echo the job failed >&2; exit 1", "yield_ms": 0, "title": FAILING},
    DAMAGED: lambda given: {"command": "sleep 0.1", "yield_ms": 0},
    "confirm_delete": lambda given: _asking(f"Delete {given.get('filename')}?", "deleted"),
    # A job has one standard input: it cannot ask twice at the same time
    "multi_input": lambda given: {
        "command": 'printf "Name? "; read a; printf "Sure? "; read b; echo "$a $b"',
        "stdin": "open",
        "yield_ms": PATIENT_MS,
    },
    ASKS_FIRST: lambda given: {
        "command": ["sh", "-c", 'sleep 0.3; echo "Hello, $1!"', "sh", given["name"]],
        "yield_ms": 0,
    },
}
TOOLS = tuple(tool(name, "A job.", {"type": "object"}) for name in JOBS)


async def called(ctx: Request, params: types.CallToolRequestParams, product: Call, root: Path) -> Any:
    """The product's answer to the `exec` that stands behind a tool of JOBS. Three tools add what no command does by
    itself: `greet` says what its command printed and none of our words, `failing_job` calls a non-zero exit an error, and
    `protocol_error_job` damages what is known of its job."""
    if params.name in NEEDS_TASKS:
        task_requests.require(ctx)
    given = dict(params.arguments or {})
    if params.name == ASKS_FIRST:
        answered: Any = (params.input_responses or {}).get("user_name")
        if answered is None:
            return _what_name()
        given["name"] = answered.content["name"]
    arguments = JOBS[params.name](given)
    answer = await product(ctx, params.model_copy(update={"name": EXEC, "arguments": arguments}))
    if params.name == "greet" and isinstance(answer, types.CallToolResult):
        printed = str((answer.structured_content or {}).get("output", "")).strip()
        return answer.model_copy(update={"content": [types.TextContent(text=printed)]})
    if params.name == DAMAGED and isinstance(answer, dict):
        job = answer["taskId"]
        waiting = types.CallToolRequestParams(name=PROCESS, arguments={"action": "wait", "job_id": job})
        await product(ctx, waiting)
        for name in (STATE, EVENTS):  # from its history alone its end is known
            (root / job / name).write_text("damaged", encoding="utf-8")
    return answer


def judged(task: Any) -> Any:
    """A task as `tasks/get` answers it: the result of `failing_job` is an error."""
    result = task.get("result", {}) if isinstance(task, dict) else {}
    about = result.get("structuredContent") or {}
    if about.get("output") == "the job failed\n" and about.get("exit_code"):
        return {**task, "result": {**result, "isError": True}}
    return task


def _what_name() -> types.InputRequiredResult:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    asked = types.ElicitRequestFormParams(message="What is your name?", requested_schema=schema)
    return types.InputRequiredResult(input_requests={"user_name": types.ElicitRequest(params=asked)})
