"""Which right an action needs, and a server without the tool that starts commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mcp import MCPError

from outlive.core.records import CONTROL, EXEC, READ
from outlive.mcp.tools.offer import process_verbs
from support.cli import Cli
from support.mcp_client import McpSession
from support.tiers import ONE_ERA

Connect = Callable[..., McpSession]
# hosts, an action of a part: for callers that start jobs there
STARTING = {"create", "start", "restart"} | ({"hosts"} & process_verbs().keys())


def test_every_action_says_which_right_it_needs() -> None:
    assert {action for action, verb in process_verbs().items() if verb.right == EXEC} == STARTING
    assert {verb.right for verb in process_verbs().values()} == {READ, CONTROL, EXEC}


@ONE_ERA
def test_a_server_with_process_alone_runs_nothing(mcp_connect: Connect, cli: Cli, work: Path) -> None:
    session = mcp_connect(args=("--tools=process",))
    tools = session.tools()
    assert list(tools) == ["process"]
    process = tools["process"]
    with pytest.raises(MCPError):
        session.call("exec", command="touch made")
    session.error("process", code="invalid_argument", action="spawn", command="touch made")
    assert set(process_verbs()) - set(process.input_schema["properties"]["action"]["enum"]) == STARTING
    made, ended = cli.ok("create", "touch made")["job_id"], cli.ok("run", "echo seen")["job_id"]
    for asked in (
        {"action": "create", "command": "touch made"},
        {"action": "start", "job_id": made},
        {"action": "restart", "job_id": ended},
        {"action": "notify_set", "job_id": made, "notify_command": "touch made"},
        {"action": "notify_set", "job_id": made, "watch": [{"pattern": ".", "command": "touch made"}]},
    ):
        error = session.error("process", code="denied", **asked)["error"]
        assert "--tools process" in error["hint"], asked
    assert session.ok("process", action="log", job_id=ended)["output"] == "seen\n"
    assert not (work / "made").exists()
