"""A model is told once, for each job and session, that output is not UTF-8, and how to read it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from support.cli import Cli
from support.commands import GATE
from support.mcp_client import McpSession
from support.tiers import ONE_ERA
from support.tools import background
from support.wait import until

Connect = Callable[..., McpSession]
SAID = "encoding=latin-1"


def told(session: McpSession, action: str, job: str) -> bool:
    answer = session.call("process", action=action, job_id=job, **({} if action == "tail" else {"since_seq": 0}))
    said = SAID in (answer.result.get("hint") or "")
    assert said == (SAID in answer.text)
    return said


@ONE_ERA
def test_that_output_is_not_utf_8_is_told_once_for_each_job_and_session(mcp_connect: Connect, cli: Cli) -> None:
    session = mcp_connect()
    answer = session.call("exec", command="printf 'caf\\351\\n'")
    assert answer.result["output"] == "caf\ufffd\n"
    assert SAID in answer.result["hint"] and SAID in answer.text
    job = answer.result["job_id"]
    assert not any(told(session, action, job) for action in ("wait", "poll", "log", "tail"))
    other = session.ok("exec", command="printf '\\351\\n'")
    assert SAID in other["hint"]
    assert SAID not in (session.ok("exec", command="printf 'caf\\303\\251\\n'").get("hint") or "")
    another = mcp_connect(client_name="another")
    assert [told(another, "log", job) for _ in range(2)] == [True, False]
    session.kill()
    until(lambda: not Path(f"/proc/{session.pid}/exe").exists(), what="the end of the server")
    # The next session of that client is told too, and poll still says that it goes on behind what the first one read
    next_one = mcp_connect()
    assert told(next_one, "tail", job)
    assert "an earlier session has read" in next_one.ok("process", action="poll", job_id=job)["hint"]


@ONE_ERA
def test_wait_tells_it_too(shared_session: McpSession, work: str) -> None:
    job = background(shared_session, f"{GATE}; printf '\\351\\n'")
    call = shared_session.begin("process", action="wait", job_id=job)
    with open("go", "w"):
        pass
    assert SAID in call.result(60)["hint"]
