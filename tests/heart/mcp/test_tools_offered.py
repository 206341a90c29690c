"""Servers that offer one of the two tools only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError

from outlive.mcp.tools.offer import process_verbs
from support.cli import Cli, Jobs
from support.commands import GATE
from support.jobs import job_ids
from support.mcp_client import McpSession
from support.tiers import MODERN_FIRST, ONE_ERA
from support.tools import UNKNOWN, instructions
from support.wait import until

Connect = Callable[..., McpSession]
# How texts write the other tool: with an action, or as the tool that it is
OTHER_TOOL = re.compile(rf"\bprocess (action=|tool|{'|'.join(process_verbs())})|; kill ends")


@pytest.fixture(scope="module")
def exec_server(era: str, shared_place: Path, shared_where: dict[str, Any]) -> Iterator[McpSession]:
    with McpSession(log=shared_place / "mcp.log", era=era, args=("--tools", "exec"), **shared_where) as session:
        yield session


@pytest.fixture
def exec_alone(exec_server: McpSession, jobs: Jobs, work: Path) -> Iterator[McpSession]:
    """A client that is offered `exec` only, of a server that tests share."""
    yield exec_server
    jobs.end()
    (work / "go").unlink(missing_ok=True)


@MODERN_FIRST
def test_exec_alone_answers_at_the_end_and_names_no_other_tool(
    exec_alone: McpSession, cli: Cli, root: Path, work: Path
) -> None:
    session = exec_alone
    tools = session.tools()
    assert list(tools) == ["exec"]
    assert not {"yield_ms", "background"} & set(tools["exec"].input_schema["properties"])
    said = [tools["exec"].description or "", session.ask(instructions)]
    call = session.begin("exec", command=f"echo one; {GATE}; echo two; exit 3", background=True, yield_ms=0, yieldMs=1)
    assert cli.ok("wait", *until(lambda: job_ids(root), what="the job"), "--until", "output")["state"] == "running"
    assert not call.done()
    (work / "go").touch()
    found = call.result()
    assert (found["state"], found["exit_code"], found["output"]) == ("exited", 3, "one\ntwo\n")
    ended = session.call("exec", command="sleep 60", timeout=0.3, yield_ms=None)
    assert ended["reason"] == "timeout"
    wrong = session.error("exec", code="invalid_argument", command="true", job_id=UNKNOWN)
    for text in (*said, found.text, ended.text, wrong.text):
        assert not OTHER_TOOL.search(text), text
    with pytest.raises(MCPError):
        session.call("process", action="list")
    assert cli.ok("list", "--all")["jobs"], "the command line finds them"


@ONE_ERA
def test_exec_alone_tells_of_a_process_left_behind_without_naming_an_action_it_lacks(exec_alone: McpSession) -> None:
    found = exec_alone.call("exec", command="sleep 300 >/dev/null 2>&1 & exit 3")
    assert (found["exit_code"], found["descendants"]) == (3, 1)
    assert "1 process that job" in found.text
    for text in (found.text, found["hint"]):
        assert "kill" not in text and not OTHER_TOOL.search(text), text


@ONE_ERA
def test_exec_alone_says_where_the_rest_of_much_output_is_without_naming_a_tool_it_lacks(
    exec_alone: McpSession,
) -> None:
    found = exec_alone.call("exec", command="seq 20000")
    assert found["truncated"]
    assert found["stdout_log_path"] in found.text
    told = [line for line in found.text.splitlines() if not line.isdigit()]
    assert not any("process" in line for line in told), told
