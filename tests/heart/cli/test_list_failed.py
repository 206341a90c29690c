"""list --failed, and jobs that ended and left processes: what a list says of them, and what it does not hide."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from outlive.core.records import State
from support import pair
from support.cli import Cli, Jobs
from support.jobs import UNASKED, aged, background
from support.mcp_client import McpSession
from support.tiers import MODERN_FIRST, ONE_ERA
from support.wait import until

LEAVES = "sleep 300 & sleep 301 & echo started"


def listed(cli: Cli, *words: str) -> list[str]:
    return [job["job_id"] for job in cli.ok("list", *words)["jobs"]]


# --- what did not end well -----------------------------------------------------------------------------------------


def test_which_ends_are_bad() -> None:
    good = [State(state="exited", exit_code=0, reason="exit"), State(state="running"), State(state="created")]
    bad = [State(state="exited", exit_code=1, reason="exit"), State(state="killed", signal="SIGKILL", reason="oom")]
    bad += [State(state="failed", reason="denied"), State(state="failed", reason="lost"), State(state="unknown")]
    assert [state.ended_badly for state in (*good, *bad)] == [False] * 3 + [True] * 5


def test_every_bad_end_is_listed_with_the_line_that_says_why_and_not_for_the_state_failed_alone(cli: Cli) -> None:
    bad = {
        "exit": cli.ok("run", "echo boom >&2; exit 3")["job_id"],
        "signal": cli.ok("run", "echo cut; kill -SEGV $$")["job_id"],
        "timeout": cli.ok("run", "--wait", "--timeout", "200", "sleep 60")["job_id"],
        "launch": cli.ok("run", "--wait", "--", "/no/such/program", "x")["job_id"],
    }
    cli.ok("run", "echo good")
    rows = cli.ok("list", "--failed")["jobs"]
    assert {row["reason"]: row["job_id"] for row in rows} == bad
    why = {row["reason"]: row["last_line"] or row.get("message") for row in rows}
    assert (why["exit"], why["signal"]) == ("boom", "cut")
    assert why["launch"] == "/no/such/program: command not found"
    table = cli.text("list", "--failed", "--human").stdout
    assert "LAST LINE" in table and "boom" in table and "command not found" in table
    assert "LAST LINE" not in cli.text("list", "--human").stdout
    brief = cli.ok("list", "--failed", "--detail", "brief", "--limit", "1")
    assert brief["truncated"] and brief["hint"].startswith("There are more")
    cli.ok("remove", bad["launch"])  # and the state `failed` is not all that failed
    none = cli.ok("list", "--state", "failed")
    assert none["jobs"] == []
    assert "3 more did not end well: --failed shows them" in none["hint"]
    assert cli.ok("list", "--state", "failed", "--tag", "none")["hint"].startswith("No job here fits; ")
    assert "more did not end well" in cli.text("list", "--state", "failed", "--human").stdout


def test_of_the_failed_only_the_recent_are_listed(cli: Cli) -> None:
    old = aged(cli, 2, "exit 4")
    new = cli.ok("run", "exit 5", env=UNASKED)["job_id"]
    assert set(listed(cli, "--failed")) == {old, new}
    for since in ("24h", "2d", cli.ok("status", new)["finished_at"]):
        assert listed(cli, "--failed", "--since", since) == [new], since
    assert set(listed(cli, "--failed", "--since", "3d")) == {old, new}
    assert listed(cli, "--failed", "--since", "2100-01-01T00:00:00Z") == []
    for wrong in ("soon", "24", "-1h", ""):
        cli.error("list", "--since", wrong, code="invalid_argument")


def test_since_alone_keeps_what_runs(cli: Cli, jobs: Jobs) -> None:
    old = aged(cli, 2)
    running = background(cli)
    assert listed(cli, "--since", "2100-01-01T00:00:00Z") == [running]
    assert old not in listed(cli, "--since", "1d")
    jobs.end()


def test_a_directory_that_has_not_changed_since_is_not_read(cli: Cli, root: Path) -> None:
    old = aged(cli, 2, "exit 4")
    assert listed(cli, "--failed", "--since", "1d") == []
    (root / old / "state.json").write_text("damaged")
    assert old in listed(cli, "--failed"), "its history knows the end"
    os.utime(root / old, (1_000_000_000, 1_000_000_000))
    assert listed(cli, "--failed", "--since", "3d") == []


def test_rows_of_another_directory_name_it(cli: Cli, place: Path) -> None:
    here = cli.ok("run", "true")["job_id"]
    there = cli.ok("run", "true", cwd=place)["job_id"]
    rows = {job["job_id"]: job for job in cli.ok("list", "--all", "--detail", "brief")["jobs"]}
    assert (rows[there]["others"], rows[there]["owner"], rows[there]["cwd"]) == (True, "cli", str(place))
    assert not rows[here].keys() & {"others", "owner", "cwd"}
    assert str(place) in cli.text("list", "--all", "--human").stdout


# --- jobs that ended and left processes ------------------------------------------------------------------------------


def test_a_job_that_left_processes_counts_as_running_until_kill_has_ended_them(cli: Cli, root: Path) -> None:
    job = cli.ok("run", LEAVES)["job_id"]
    cli.ok("run", "true")
    (row,) = cli.ok("list", "--state", "running")["jobs"]
    assert (row["job_id"], row["state"], row["exit_code"], row["descendants"]) == (job, "exited", 0, 2)
    assert job in listed(cli, "--state", "exited")
    assert "exited (2 processes left)" in cli.text("list", "--human").stdout
    killed = cli.ok("kill", job)
    assert sorted(one["command"] for one in killed["ended"]) == ["sleep 300", "sleep 301"]
    assert killed["hint"] == "The command had ended before; 2 processes that it left were ended."
    assert "descendants" not in cli.ok("list")["jobs"][1]
    assert listed(cli, "--state", "running") == []
    until(lambda: os.listdir(root / ".live") == [], what="the end of its supervisor")


def test_a_guardian_that_takes_over_keeps_the_mark_of_what_is_left(cli: Cli, root: Path) -> None:
    job = cli.ok("run", LEAVES)["job_id"]
    until(lambda: os.listdir(root / ".live") == [f"{job}.left"])
    first = pair.supervisor(job)
    os.kill(first, signal.SIGKILL)
    until(lambda: pair.is_supervised(root, job) and pair.supervisor_now(job) != first, what="the takeover")
    assert until(lambda: listed(cli, "--state", "running")) == [job]
    cli.ok("kill", job)
    until(lambda: os.listdir(root / ".live") == [], what="the end of its supervisor")


# --- over MCP ----------------------------------------------------------------------------------------------------------


@MODERN_FIRST
def test_a_model_that_asks_for_failed_jobs_is_not_told_that_there_are_none(mcp_session: McpSession) -> None:
    session = mcp_session
    boom = session.ok("exec", command="echo boom; exit 3")["job_id"]
    session.ok("exec", command="true")
    none = session.call("process", action="list", state="failed")
    assert none["jobs"] == [] and "1 more did not end well: failed=true shows them" in none.text
    found = session.call("process", action="list", failed=True, since="24h")
    assert [job["job_id"] for job in found["jobs"]] == [boom]
    assert "exited 3" in found.text and ":: boom" in found.text
    left = session.ok("exec", command=LEAVES)["job_id"]
    running = session.call("process", action="list", state="running")
    assert [job["job_id"] for job in running["jobs"]] == [left]
    assert "exited 0, 2 processes left" in running.text
    killed = session.call("process", action="kill", job_id=left)
    assert "2 processes that it left were ended" in killed.text and "sleep 300" in killed.text


@ONE_ERA
def test_rows_of_another_session_name_owner_and_directory(
    mcp_connect: Callable[..., McpSession], cli: Cli, place: Path
) -> None:
    theirs = cli.ok("run", "exit 3", cwd=place)["job_id"]
    session = mcp_connect(client_name="one")
    mine = session.ok("exec", command="exit 4")["job_id"]
    empty: Any = mcp_connect(client_name="two").call("process", action="list", failed=True)
    assert "2 that did not end well in other sessions: all=true shows them" in empty.text
    rows = session.call("process", action="list", all=True, failed=True, detail="brief")
    assert {job["job_id"]: job.get("owner") for job in rows["jobs"]} == {mine: None, theirs: "cli"}
    assert rows.text.count("[of ") == 1 and f"[of cli in {place}]" in rows.text
    assert f"[of cli in {place}]" in session.call("process", action="list", all=True, detail="full").text


def test_a_job_that_has_just_ended_is_counted_among_those_that_have(cli: Cli, root: Path) -> None:
    job = cli.ok("run", "true", env={"OUTLIVE_CRASH_AT": "stop:end_reaped"})["job_id"]  # its end is not synced yet
    supervisor = until(lambda: cli.ok("status", job).get("supervisor_pid"), what="it is stopped")
    try:
        assert cli.ok("list", "--state", "killed")["hint"] == "No job here has the state killed; 1 has ended."
    finally:
        os.kill(supervisor, signal.SIGCONT)
    pair.until_free(root, job)
