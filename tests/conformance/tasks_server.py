"""The tools that the tasks scenarios of the MCP conformance suite call, each of them a job behind our tasks.

    python tests/conformance/tasks_server.py --port 8931

A tool here only says which command stands behind its name; it is started, followed, cancelled and answered by the same
code that serves `exec`. Two tools add what no command does by itself: `failing_job` calls a non-zero exit an error of
the tool, and `protocol_error_job` damages the record of its job, so that it cannot be read. `docs/conformance.md` has
the commands of the suite and what it said.
"""

from __future__ import annotations

import argparse
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from mcp import MCPError, types
from mcp.server.lowlevel import Server

from outlive import actions, config
from outlive.launch import nursery
from outlive.mcp import server as outlive_server
from outlive.mcp import tasks
from outlive.mcp.call import EXEC, PROCESS, Calls, Tools, process_verbs
from outlive.mcp.environment import JobEnvironment
from outlive.mcp.owner import Caller
from outlive.store.jobdir import STATE

HOST = "127.0.0.1"
CALLER = Caller("conformance", "conformance", "conformance")
FAILING, DAMAGED, ASKS_FIRST = "failing_job", "protocol_error_job", "test_tool_with_task"
NEEDS_TASKS = {FAILING, DAMAGED, ASKS_FIRST}
PATIENT_MS, BRIEF_MS = 20_000, 50
ASK = 'printf "%s " "$1"; read answer; echo "$2: $answer"'


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


class Fixture:
    """A server with these tools, and the jobs behind them."""

    def __init__(self, root: str, launcher: Any) -> None:
        found = config.load({})
        self.environment = JobEnvironment({"PATH": "/usr/local/bin:/usr/bin:/bin"})
        offered = Tools(actions.load("run"), process_verbs(), (EXEC, PROCESS), found)
        self.calls = Calls(offered, found, self.environment, root=root, launcher=launcher)
        self._root = Path(root)
        self.server: Server[Any] = Server("outlive-conformance", on_list_tools=self._list, on_call_tool=self._call)
        tasks.install(self.server, self.calls, result=_result, who=lambda ctx: CALLER, tools=JOBS)
        with_tasks = self.server.get_request_handler("tools/call")
        assert with_tasks is not None
        self._with_tasks = with_tasks.handler
        self.server.add_request_handler("tools/call", types.CallToolRequestParams, self._damaging)

    async def _list(self, ctx: Any, params: Any) -> types.ListToolsResult:
        anything = {"type": "object"}
        return types.ListToolsResult(tools=[types.Tool(name=name, input_schema=anything) for name in JOBS])

    async def _call(self, ctx: Any, params: types.CallToolRequestParams) -> Any:
        if params.name not in JOBS:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        if params.name in NEEDS_TASKS:
            tasks.require(ctx)
        given = dict(params.arguments or {})
        if params.name == ASKS_FIRST:
            answered = (params.input_responses or {}).get("user_name")
            if answered is None:
                return _what_name()
            given["name"] = answered.content["name"]
        return _result(await self.calls.run(EXEC, JOBS[params.name](given), CALLER))

    async def _damaging(self, ctx: Any, params: types.CallToolRequestParams) -> Any:
        answer = await self._with_tasks(ctx, params)
        if params.name == DAMAGED and isinstance(answer, dict):
            job = answer["taskId"]
            await self.calls.run(PROCESS, {"action": "wait", "job_id": job}, CALLER)
            (self._root / job / STATE).write_text("damaged", encoding="utf-8")
        return answer

    async def end(self) -> None:
        """Kill and delete every job."""
        listed = await self.calls.run(PROCESS, {"action": "list", "all": True, "limit": 0}, CALLER)
        for job in listed["jobs"]:
            await self.calls.run(PROCESS, {"action": "remove", "job_id": job["job_id"]}, CALLER)
        self.calls.close()


def _result(found: dict[str, Any]) -> types.CallToolResult:
    answer = outlive_server._result(found, process=True)
    if found.get("name") == FAILING and found.get("exit_code"):
        return answer.model_copy(update={"is_error": True})
    return answer


def _what_name() -> types.InputRequiredResult:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    asked = types.ElicitRequestFormParams(message="What is your name?", requested_schema=schema)
    return types.InputRequiredResult(input_requests={"user_name": types.ElicitRequest(params=asked)})


async def serve(fixture: Fixture, port: int) -> None:
    """Until SIGINT or SIGTERM."""
    http = uvicorn.Server(uvicorn.Config(fixture.server.streamable_http_app(host=HOST), log_level="warning"))
    listener = socket.create_server((HOST, port))
    sys.stdout.write(f"http://{HOST}:{listener.getsockname()[1]}/mcp\n")
    sys.stdout.flush()
    async with anyio.create_task_group() as group:
        group.start_soon(fixture.environment.watch)
        await http.serve(sockets=[listener])
        await fixture.end()
        group.cancel_scope.cancel()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0, help="on the loopback interface; without it any that is free")
    port = parser.parse_args().port
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)  # uvicorn ends by them, and then raises them again
    launcher = nursery.start()
    try:
        with tempfile.TemporaryDirectory(prefix="outlive-conformance-") as root:
            anyio.run(serve, Fixture(root, launcher), port)
    finally:
        launcher.close()


if __name__ == "__main__":
    main()
