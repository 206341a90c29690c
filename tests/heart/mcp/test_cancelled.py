"""A call that starts a job and is cancelled or cut off: the job stays or ends, and the next answer names it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.cli import Cli
from support.jobs import job_ids
from support.mcp_client import McpSession, RawMcp
from support.serve import HttpSession, Served
from support.tiers import MODERN_FIRST
from support.wait import until

pytestmark = pytest.mark.leaves_jobs
Connect = Callable[..., McpSession]
ENDS = {"OUTLIVE_EXEC_ON_CANCEL": "kill"}


def begin(session: McpSession, root: Path, command: str, tool: str = "exec", **more: Any) -> tuple[Any, str]:
    """A call that starts a job and is not answered; the job runs when this returns."""
    before = job_ids(root)
    given = {"command": f"touch started; {command}", "yield_ms": 40_000} if tool == "exec" else {}
    Path("started").unlink(missing_ok=True)
    call = session.begin(tool, **given, **more)
    until(Path("started").exists, what="the command")
    (job,) = job_ids(root) - before if tool == "exec" else {more["job_id"]}
    return call, job


def notices(session: McpSession, tool: str = "process") -> list[tuple[str, str, str]]:
    """What an answer that has nothing to do with them tells, as (job, event, state)."""
    given = {"action": "list", "state": "created"} if tool == "process" else {"command": "true"}
    answer = session.call(tool, **given)
    found = answer.result.get("notices", [])
    for notice in found:
        assert notice["job_id"] in answer.text
    return [(notice["job_id"], notice["event"], notice["state"]) for notice in found]


def state(cli: Cli, job: str) -> str:
    found: str = cli.ok("status", job)["state"]
    return found


def is_over(cli: Cli, job: str) -> Callable[[], bool]:
    return lambda: state(cli, job) != "running"


def test_a_cancelled_call_leaves_its_job_and_the_next_answer_names_it_once(
    shared_session: McpSession, cli: Cli, root: Path
) -> None:
    call, job = begin(shared_session, root, "echo ready; until [ -e go ]; do sleep 0.1; done")
    log = root / job / "stdout.log"  # it is made after the job is listed
    until(lambda: log.exists() and log.read_bytes(), what="its output")
    assert notices(shared_session) == [], "the call is still under way"
    call.cancel()
    told: list[Any] = []

    def is_told() -> bool:
        answer = shared_session.call("process", action="list", state="created")
        told.extend((notice, answer.text) for notice in answer.result.get("notices", []))
        return bool(told)

    until(is_told, what="the notice")
    ((notice, text),) = told
    assert (notice["job_id"], notice["event"], notice["state"]) == (job, "unanswered", "running")
    assert notice["last_line"] == "ready"
    assert f"left job {job} (" in text and "process wait, log or kill it" in text
    assert notices(shared_session) == []
    assert state(cli, job) == "running"
    Path("go").touch()


@pytest.mark.parametrize("era", ["modern"], indirect=True)
def test_a_silent_success_of_a_cancelled_call_is_told_too(
    raw_mcp: Callable[..., RawMcp], cli: Cli, era: str, root: Path
) -> None:
    raw = raw_mcp(era=era)
    gated = "touch started; until [ -e go ]; do sleep 0.1; done"
    request = raw.begin_call("exec", command=gated, yield_ms=40_000)
    until(Path("started").exists, what="the command")
    (job,) = job_ids(root)
    raw.cancel(request)
    raw.request("tools/list")  # read after it: a call that ends before it is cancelled is answered
    Path("go").touch()
    cli.ok("wait", job)
    told: list[Any] = []

    def is_told() -> bool:
        told.extend(raw.call("process", action="list", state="created").result.get("notices", []))
        return bool(told)

    until(is_told, what="the notice")
    assert [(notice["job_id"], notice["event"], notice["state"]) for notice in told] == [(job, "unanswered", "exited")]
    assert "notices" not in raw.call("process", action="list", state="created").result


@MODERN_FIRST
def test_a_job_that_an_answer_has_named_is_not_told_of_as_left(
    shared_session: McpSession, cli: Cli, root: Path
) -> None:
    call, job = begin(shared_session, root, "exec sleep 60")
    call.cancel()
    assert shared_session.ok("process", action="list")["jobs"][0]["job_id"] == job
    assert notices(shared_session) == []
    made = shared_session.ok("process", action="create", command="touch started; exec sleep 60")["job_id"]
    begin(shared_session, root, "", "process", action="start", job_id=made, yield_ms=40_000)[0].cancel()
    assert until(lambda: notices(shared_session), what="the notice") == [(made, "unanswered", "running")]


@MODERN_FIRST
def test_a_cancelled_call_ends_its_job_where_the_configuration_says_so(
    mcp_connect: Connect, cli: Cli, root: Path
) -> None:
    session = mcp_connect(env=ENDS)
    call, job = begin(session, root, "exec sleep 60")
    call.cancel()
    until(is_over(cli, job), what="the end")
    assert cli.ok("status", job)["reason"] == "kill"
    assert until(lambda: notices(session), what="the notice") == [(job, "unanswered", "killed")]
    assert notices(session) == []


@MODERN_FIRST
def test_a_connection_that_ends_takes_no_job_with_it(mcp_connect: Connect, cli: Cli, root: Path) -> None:
    with McpSession(log=root.parent / "first.log", env=ENDS) as session:
        _, job = begin(session, root, "until [ -e go ]; do sleep 0.1; done")
    assert state(cli, job) == "running"
    assert notices(mcp_connect(env=ENDS)) == [(job, "unanswered", "running")]
    Path("go").touch()


@MODERN_FIRST
def test_exec_alone_ends_what_was_cancelled_and_names_what_a_dead_server_left(
    mcp_connect: Connect, cli: Cli, root: Path
) -> None:
    alone = mcp_connect(args=("--tools", "exec"))
    call, job = begin(alone, root, "exec sleep 60")
    call.cancel()
    until(is_over(cli, job), what="the end")
    assert until(lambda: notices(alone, "exec"), what="the notice") == [(job, "unanswered", "killed")]
    _, left = begin(alone, root, "echo half; until [ -e go ]; do sleep 0.1; done")
    alone.kill()
    until(lambda: not Path(f"/proc/{alone.pid}/exe").exists(), what="the end of the server")
    answer = mcp_connect(args=("--tools", "exec")).call("exec", command="true")
    (notice,) = answer.result["notices"]
    assert (notice["job_id"], notice["event"], notice["state"]) == (left, "unanswered", "running")
    assert f"`outlive kill {left}` ends it" in answer.text and "process" not in answer.text.split(left)[1]
    Path("go").touch()


@MODERN_FIRST
def test_exec_alone_keeps_the_job_where_the_configuration_says_so(mcp_connect: Connect, cli: Cli, root: Path) -> None:
    alone = mcp_connect(args=("--tools", "exec"), env={"OUTLIVE_EXEC_ON_CANCEL": "keep"})
    call, job = begin(alone, root, "exec sleep 60")
    call.cancel()
    assert until(lambda: notices(alone, "exec"), what="the notice") == [(job, "unanswered", "running")]


@pytest.mark.parametrize("on_cancel", ["keep", "kill"])
def test_a_dropped_request_over_http_is_a_cancelled_call(
    serve: Callable[..., Served], cli: Cli, root: Path, on_cancel: str
) -> None:
    served = serve("--workdir", os.getcwd(), env={"OUTLIVE_EXEC_ON_CANCEL": on_cancel})
    with HttpSession(served) as session:
        call, job = begin(session, root, "exec sleep 60")
        call.cancel()
        if on_cancel == "kill":
            until(is_over(cli, job), what="the end")
        news = until(lambda: notices(session), what="the notice")
        assert news == [(job, "unanswered", "running" if on_cancel == "keep" else "killed")]


def test_the_end_of_a_server_over_http_ends_no_job(serve: Callable[..., Served], cli: Cli, root: Path) -> None:
    served = serve("--workdir", os.getcwd(), env=ENDS)
    with HttpSession(served) as session:
        _, job = begin(session, root, "exec sleep 60")
        served.process.send_signal(signal.SIGTERM)
        served.process.wait(60)
        assert state(cli, job) == "running"


def test_a_cancelled_message_after_the_answer_changes_nothing(raw_mcp: Callable[..., RawMcp], cli: Cli) -> None:
    raw = raw_mcp(era="legacy", env=ENDS)  # OpenCode sends one after every answer
    call = raw.begin_call("exec", command="exec sleep 60", yield_ms=0)
    job = raw.tool_answer(call)["job_id"]
    raw.cancel(call)
    assert "notices" not in raw.call("process", action="list", state="created").result
    assert state(cli, job) == "running"
    cli.ok("kill", job)
