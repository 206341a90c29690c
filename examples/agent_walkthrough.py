"""Show what an agent does with outlive, call by call, over MCP on stdio.

    python examples/agent_walkthrough.py

The script starts `outlive mcp` with the MCP SDK's own client and prints each tool call and the text that a model would
read. Halfway through, the client and its server end, and a second pair finds everything again. The script works in a
temporary job root and leaves nothing behind. It needs outlive installed in the Python that runs it.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import Implementation

BUILD = """
for step in 1 2 3 4 5 6; do
  echo "compiling part $step"
  [ $step -ne 4 ] || echo 'warning: part 4 is deprecated' >&2
  sleep 0.3
done
echo 'error: part 6 does not link' >&2
exit 2
"""
QUESTION = "read name; echo \"hello, $name\"; read more; echo 'no more input'"


class Agent:
    """A client with one connection. It prints every call, and the answer as a model sees it."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool, print the text of its answer, and return its structured content."""
        print(f"\n> {tool} {json.dumps(arguments)}")
        # A program reads every member of the object; a model reads the text.
        answer = await self._client.call_tool(tool, {"detail": "full", **arguments})
        for part in answer.content:
            for line in getattr(part, "text", "").splitlines():
                print(f"  {line}")
        if answer.is_error:
            raise SystemExit("this call was not expected to fail")
        return answer.structured_content or {}


@contextlib.asynccontextmanager
async def connected(root: str) -> AsyncIterator[Agent]:
    """Connect to a server of its own. At the end the server is gone; its jobs are not."""
    server = StdioServerParameters(command=sys.executable, args=["-m", "outlive", "mcp", "--root", root])
    # Jobs belong to the client's name: the second connection below is known by it.
    async with Client(server, client_info=Implementation(name="walkthrough", version="1")) as client:
        yield Agent(client)


async def first_session(root: str) -> tuple[str, str]:
    """Start two jobs, read them, and leave. Return their ids."""
    async with connected(root) as agent:
        print("# A short command is answered when it has ended. A non-zero exit code is an answer, not an error.")
        quick = await agent.call("exec", command="echo checked; exit 3")
        expect(quick["exit_code"] == 3 and quick["output"] == "checked\n", quick)

        print("\n# A long one goes to the background. Its id and a cursor (next_seq) are all there is to remember.")
        build = await agent.call("exec", command=BUILD, background=True, title="build", tags=["demo.build"])

        print("\n# wait returns when there is output (or at the end); it never ends a job.")
        seen = await agent.call("process", action="wait", job_id=build["job_id"], until="output", timeout_ms=5000)
        expect(seen["fired"] is not None, seen)

        print("\n# A job that reads its stdin is started with stdin=open. write answers with what the program says.")
        asking = await agent.call("exec", command=QUESTION, background=True, stdin="open", title="question")
        reply = await agent.call("process", action="write", job_id=asking["job_id"], data="outlive\n", wait_ms=5000)
        expect("hello, outlive" in reply["output"], reply)
    return build["job_id"], asking["job_id"]


async def second_session(root: str, build: str, asking: str) -> None:
    """Find the jobs with another server and client, read on, end what is left, tidy up."""
    async with connected(root) as agent:
        print("\n# The client and its server are gone. Another pair asks which jobs there are.")
        listed = await agent.call("process", action="list")
        expect({build, asking} <= {job["job_id"] for job in listed["jobs"]}, listed)

        print("\n# poll without since_seq goes on where this client's last answer about the job ended.")
        more = await agent.call("process", action="poll", job_id=build, timeout_ms=1000)

        print("\n# No sleep loop: wait until it ends. The answer goes on at the same cursor.")
        ended = await agent.call("process", action="wait", job_id=build, timeout_ms=30000)
        expect(ended["since_seq"] == more["next_seq"], ended)
        expect((ended["state"], ended["exit_code"]) == ("exited", 2), ended)

        print("\n# Only the lines that matter, with their numbers, instead of the whole output.")
        found = await agent.call("process", action="log", job_id=build, search="warning|error", context=0)
        expect(found["matches"] == 2, found)

        print("\n# kill ends a job and everything it started; who asked is kept.")
        killed = await agent.call("process", action="kill", job_id=asking)
        expect(killed["state"] == "killed" and not killed["survivors"], killed)

        print("\n# remove deletes a job and its output (and ends it first, if it runs).")
        for job in (await agent.call("process", action="list"))["jobs"]:
            await agent.call("process", action="remove", job_id=job["job_id"])


def expect(condition: bool, answer: dict[str, Any]) -> None:
    if not condition:
        raise SystemExit(f"not as expected: {json.dumps(answer, indent=2)}")


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="outlive-walkthrough-") as place:
        root = str(Path(place) / "jobs")
        with anyio.fail_after(120):
            build, asking = await first_session(root)
            await second_session(root, build, asking)
    print("\nall as expected")


if __name__ == "__main__":
    anyio.run(main)
