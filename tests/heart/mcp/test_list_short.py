"""A list for a model shows what runs, what failed and the newest ten others, and counts all."""

from __future__ import annotations

from support.mcp_client import McpSession
from support.tiers import ONE_ERA


@ONE_ERA
def test_a_list_counts_all_jobs_and_shows_those_that_matter(mcp_session: McpSession) -> None:
    failed = [mcp_session.ok("exec", command=f"exit {code}")["job_id"] for code in (1, 2)]
    running = mcp_session.ok("exec", command="sleep 60", yield_ms=0)["job_id"]
    well = [mcp_session.ok("exec", command=["true"])["job_id"] for _ in range(14)]
    found = mcp_session.call("process", action="list", detail="brief")
    assert [job["job_id"] for job in found["jobs"]] == [running, *reversed(well[4:]), *reversed(failed)]
    assert found["counts"] == {"all": 17, "running": 1, "failed": 2, "killed": 0, "complete": True}
    assert (found["truncated"], found["hint"]) == (True, "limit=0 lists all 17.")
    assert "17 jobs, 1 running, 2 failed; 13 shown" in found.text
    every = mcp_session.call("process", action="list", detail="brief", limit=0)
    assert (every["jobs"][0]["job_id"], len(every["jobs"]), "counts" in every.result) == (
        running,
        17,
        False,
    )
    assert len(mcp_session.ok("process", action="list", detail="brief", state="exited")["jobs"]) == 16
    assert mcp_session.ok("process", action="list")["counts"]["all"] == 17
    few = mcp_session.call("process", action="list", detail="brief", max_bytes=500)
    assert len(few["jobs"]) < 13 and few["counts"]["all"] == 17
    assert f"17 jobs, 1 running, 2 failed; {len(few['jobs'])} shown" in few.text
    mcp_session.ok("process", action="kill", job_id=running)


@ONE_ERA
def test_a_job_that_was_ended_on_request_did_not_fail(mcp_session: McpSession) -> None:
    trap = "trap 'exit 3' TERM; echo on; while :; do sleep 0.05; done"
    ended = [mcp_session.ok("exec", command=trap, until={"output": "on"})["job_id"] for _ in range(2)]
    ended.append(mcp_session.ok("exec", command="sleep 60", yield_ms=0)["job_id"])
    for job in ended:
        mcp_session.ok("process", action="kill", job_id=job)
    failed = [
        mcp_session.ok("exec", command="kill -9 $$")["job_id"],
        mcp_session.ok("exec", command="sleep 60", timeout=0.1)["job_id"],
    ]
    for _ in range(10):
        mcp_session.ok("exec", command=["true"])
    found = mcp_session.call("process", action="list", detail="brief")
    assert found["counts"] == {"all": 15, "running": 0, "failed": 2, "killed": 3, "complete": True}
    assert "15 jobs, 2 failed, 3 killed; 12 shown" in found.text
    assert [job["job_id"] for job in found["jobs"]][-2:] == [*reversed(failed)]


@ONE_ERA
def test_a_row_has_the_codes_of_stages_once_and_only_if_they_say_something(mcp_session: McpSession) -> None:
    for command in ("false | true", "true | true", "true | false"):
        mcp_session.ok("exec", command=command)
    rows = mcp_session.call("process", action="list", detail="brief").text.splitlines()[-3:]
    assert ["stages" in row for row in rows] == [False, False, True]
    assert rows[2].count("stages") == 1 and "exited 0 (stages: 1, 0)" in rows[2]


@ONE_ERA
def test_the_end_of_the_input_is_named_as_what_it_is(mcp_session: McpSession) -> None:
    job = mcp_session.ok("exec", command="cat -n", stdin="open", yield_ms=0)["job_id"]
    asks = mcp_session.call("process", action="wait", job_id=job, until={"input": True}, detail="brief")
    assert "write with eof ends the input" in asks.text
    refused = mcp_session.call("process", action="eof", job_id=job)
    assert "Did you mean write" in refused.text
    ended = mcp_session.ok("process", action="write", job_id=job, data="x\n", eof=True, wait_ms=20_000)
    assert ended["state"] == "exited"
