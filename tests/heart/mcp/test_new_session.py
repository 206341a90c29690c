"""A session that knows nothing of the jobs before it is told where they are, and what of them it is shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from support.cli import Cli
from support.mcp_client import McpSession
from support.tiers import MODERN_FIRST
from support.wait import until

Connect = Callable[..., McpSession]


@MODERN_FIRST
def test_an_empty_list_counts_the_jobs_of_other_sessions(mcp_connect: Connect, cli: Cli) -> None:
    one, other = (mcp_connect(env={"CLAUDE_CODE_SESSION_ID": name}) for name in ("one", "other"))
    assert "hint" not in other.ok("process", action="list")
    one.ok("exec", command="true")
    job = one.ok("exec", command="exec sleep 60", yield_ms=0)["job_id"]
    answer = other.call("process", action="list")
    assert answer.text == "None of yours; 1 running, 1 not running in other sessions: all=true shows them."
    assert answer.result["hint"] == answer.text
    assert len(other.ok("process", action="list", all=True)["jobs"]) == 2
    walled = mcp_connect(client_name="walled", args=("--isolate",))
    assert "hint" not in walled.ok("process", action="list"), "its wall hides the jobs of others, and their number"
    cli.ok("kill", job)


@MODERN_FIRST
def test_finished_jobs_that_are_listed_no_more_are_counted(mcp_connect: Connect) -> None:
    session = mcp_connect(env={"OUTLIVE_EXEC_CLEANUP_MS": "0"})
    session.ok("exec", command="true")
    hint = session.ok("process", action="list")["hint"]
    assert hint == "None of yours is recent; 1 that ended long ago: all=true shows them."


@MODERN_FIRST
def test_a_wait_says_from_which_line_it_shows_what_an_earlier_session_has_not_read(
    mcp_connect: Connect, cli: Cli, work: Path
) -> None:
    first = mcp_connect()
    command = "echo one; echo two; until [ -e go ]; do sleep 0.1; done; echo three; exit 1"
    started = first.ok("exec", command=command, yield_ms=0)
    job, seen = started["job_id"], [started["output"]]

    def has_read_both() -> bool:
        seen.append(first.ok("process", action="poll", job_id=job)["output"])
        return "two" in "".join(seen)

    until(has_read_both, what="both lines")
    first.kill()
    until(lambda: not Path(f"/proc/{first.pid}/exe").exists(), what="the end of the server")
    (work / "go").touch()
    second = mcp_connect()
    answer = second.call("process", action="wait", job_id=job)
    assert "Shown from line 3 (seq 8) on; since_seq=0 shows what an earlier session has read." in answer.text
    assert answer.result["output"] == "three\n"
    assert "Shown from" not in second.call("process", action="wait", job_id=job).text


@MODERN_FIRST
def test_of_two_live_sessions_of_a_client_each_goes_on_where_its_own_last_answer_ended(
    mcp_connect: Connect, cli: Cli, work: Path
) -> None:
    one, other = mcp_connect(), mcp_connect()
    job = one.ok("exec", command="echo one; until [ -e go ]; do sleep 0.1; done; echo two", yield_ms=0)["job_id"]
    one.ok("process", action="wait", job_id=job, until="output", since_seq=0)
    assert one.ok("process", action="poll", job_id=job, since_seq=0)["output"] == "one\n"
    assert other.ok("process", action="poll", job_id=job)["output"] == "one\n", "what the other has read is not read"
    (work / "go").touch()
    cli.ok("wait", job)
    assert other.ok("process", action="poll", job_id=job)["output"] == "two\n"
    answer = one.call("process", action="poll", job_id=job)
    assert answer.result["output"] == "two\n", "what the other session has read is not read"
    assert "Shown from" not in answer.text
