"""A first look at an installed outlive: the commands a newcomer types, and a client that lists the tools.

Runs with the Python of the environment outlive was installed into, away from the checkout, in a directory of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

BOUND_S = 60
OUTLIVE = str(Path(sys.executable).with_name("outlive"))


def said(*words: str) -> str:
    done = subprocess.run(
        [OUTLIVE, *words], capture_output=True, text=True, timeout=BOUND_S, stdin=subprocess.DEVNULL, check=False
    )
    shown = f"outlive {' '.join(words)}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
    assert done.returncode == 0, shown
    assert not done.stderr, shown
    return done.stdout


def answer(*words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said(*words))
    assert found["ok"] is True, found
    return found


def check_command_line() -> None:
    assert said("--version").split()[0] == "outlive"
    assert "usage" in said("--help").lower()
    job = answer("run", "--wait", "--", "echo", "hi")
    assert (job["type"], job["state"], job["exit_code"], job["output"].strip()) == ("run", "exited", 0, "hi"), job
    assert answer("run", "--", "echo", "hi")["job_id"] != job["job_id"]
    assert answer("status", job["job_id"])["state"] == "exited"
    assert answer("tail", job["job_id"])["stdout_tail"] == "hi\n"
    assert answer("schema")["schema"]["$defs"]


async def check_tools() -> None:
    import anyio
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters

    server = StdioServerParameters(command=OUTLIVE, args=["mcp"], env=dict(os.environ))
    for mode in ("legacy", "auto"):
        with anyio.fail_after(BOUND_S):
            async with Client(server, mode=mode) as client:
                names = {tool.name for tool in (await client.list_tools()).tools}
                assert names == {"exec", "process"}, names
                found = await client.call_tool("exec", {"command": "echo hi"})
                assert not found.is_error, found
                assert "hi" in found.content[0].text, found


if __name__ == "__main__":
    check_command_line()
    import anyio

    anyio.run(check_tools)
