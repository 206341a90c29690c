"""Servers that offer one of the two tools only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mcp import MCPError

from support.cli import Cli
from support.commands import GATE
from support.mcp_client import McpSession
from support.tools import UNKNOWN, ids, instructions
from support.wait import until

Connect = Callable[..., McpSession]
ONE_ERA = pytest.mark.parametrize("era", ["modern"])


def test_exec_alone_answers_at_the_end_and_names_no_other_tool(
    mcp_connect: Connect, cli: Cli, root: Path, work: Path
) -> None:
    session = mcp_connect(args=("--tools", "exec"))
    tools = session.tools()
    assert list(tools) == ["exec"]
    assert not {"yield_ms", "background"} & set(tools["exec"].input_schema["properties"])
    said = [tools["exec"].description or "", session.ask(instructions)]
    call = session.begin("exec", command=f"echo one; {GATE}; echo two; exit 3", background=True, yield_ms=0, yieldMs=1)
    assert cli.ok("wait", *until(lambda: ids(root), what="the job"), "--until", "output")["state"] == "running"
    assert not call.done()
    (work / "go").touch()
    found = call.result()
    assert (found["state"], found["exit_code"], found["output"]) == ("exited", 3, "one\ntwo\n")
    ended = session.call("exec", command="sleep 60", timeout=0.3, yield_ms=None)
    assert ended["reason"] == "timeout"
    wrong = session.error("exec", code="invalid_argument", command="true", job_id=UNKNOWN)
    for text in (*said, found.text, ended.text, wrong.text):
        assert "process" not in text, text
    with pytest.raises(MCPError):
        session.call("process", action="list")
    assert cli.ok("list", "--all")["jobs"], "the command line finds them"


@ONE_ERA
def test_exec_alone_says_where_the_rest_of_much_output_is_without_naming_a_tool_it_lacks(mcp_connect: Connect) -> None:
    session = mcp_connect(args=("--tools", "exec"))
    found = session.call("exec", command="seq 20000")
    assert found["truncated"]
    assert found["stdout_log_path"] in found.text
    told = [line for line in found.text.splitlines() if not line.isdigit()]
    assert not any("process" in line for line in told), told


@ONE_ERA
def test_process_alone_starts_nothing(mcp_connect: Connect, cli: Cli) -> None:
    session = mcp_connect(args=("--tools=process",))
    assert list(session.tools()) == ["process"]
    session.error("process", code="invalid_argument", action="spawn", command="true")
    with pytest.raises(MCPError):
        session.call("exec", command="true")
    job = cli.ok("run", "echo seen")["job_id"]
    assert session.ok("process", action="log", job_id=job)["output"] == "seen\n"
