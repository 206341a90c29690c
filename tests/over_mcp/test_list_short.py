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
