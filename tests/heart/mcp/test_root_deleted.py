"""A job root that is deleted under a server: it is made again, and no running job is lost without a word."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from support import pair, processes
from support.cli import Cli
from support.commands import GATE
from support.mcp_client import McpSession
from support.tiers import MODERN_FIRST
from support.tools import background
from support.wait import until


@MODERN_FIRST
@pytest.mark.fault("F77")
def test_a_server_whose_root_was_deleted_tells_once_which_of_its_jobs_are_lost_and_which_processes_run(
    mcp_session: McpSession, root: Path, work: Path
) -> None:
    running, gone, told = (background(mcp_session, f"exec sleep {seconds}") for seconds in (601, 602, 603))
    pids = {
        job: mcp_session.ok("process", action="status", job_id=job, detail="full")["pid"] for job in (running, gone)
    }
    mcp_session.ok("process", action="kill", job_id=told)
    mcp_session.ok("process", action="list")
    supervisors = [pair.supervisor(running), pair.supervisor(gone)]
    shutil.rmtree(root)
    os.kill(pids[gone], signal.SIGKILL)
    until(lambda: not processes.is_alive(supervisors[1]), what="the end of the supervisor of the job that ended")
    answer = mcp_session.call("exec", command="echo on")
    assert answer.result["output"] == "on\n"
    found = {one["job_id"]: one for one in answer.result["notices"]}
    assert set(found) == {running, gone}
    for one in found.values():
        assert (one["event"], one["state"], one["reason"], one["exit_code"]) == ("removed", "unknown", "lost", None)
        assert "its directory was deleted" in one["message"]
        assert f"[job {one['job_id']}: {one['message']}]" in answer.text
    assert f"{pids[running]} (sleep 601). `kill {pids[running]}` ends it." in found[running]["message"]
    assert "none of its processes runs" in found[gone]["message"]
    assert "notices" not in mcp_session.ok("exec", command="true"), "once"
    error = mcp_session.error("process", action="poll", job_id=running, code="job_not_found").result["error"]
    assert f"{pids[running]} (sleep 601)" in error["message"]
    mcp_session.ok("exec", command=f"kill {pids[running]}")
    until(lambda: not processes.is_alive(supervisors[0]), what="the end of the supervisor of a deleted job")


@MODERN_FIRST
@pytest.mark.fault("F77")
def test_one_job_whose_directory_was_deleted_while_it_runs_is_told_of_too(mcp_session: McpSession, root: Path) -> None:
    job = background(mcp_session, "exec sleep 604")
    pid = mcp_session.ok("process", action="status", job_id=job, detail="full")["pid"]
    supervisor = pair.supervisor(job)
    shutil.rmtree(root / job)
    (notice,) = mcp_session.ok("process", action="list")["notices"]
    assert (notice["job_id"], notice["event"], notice["reason"]) == (job, "removed", "lost")
    assert f"`kill {pid}`" in notice["message"]
    os.kill(pid, signal.SIGKILL)
    until(lambda: not processes.is_alive(supervisor), what="the end of its supervisor")


@MODERN_FIRST
@pytest.mark.fault("F77")
def test_a_call_that_waits_while_the_root_is_deleted_is_answered(
    mcp_session: McpSession, cli: Cli, root: Path, work: Path
) -> None:
    call = mcp_session.begin("exec", command=GATE, yield_ms=50_000)
    (job,) = until(lambda: cli.ok("list", "--all", "--state", "running")["jobs"], what="the job")
    supervisor = pair.supervisor(job["job_id"])
    shutil.rmtree(root)
    (work / "go").touch()
    answer = call.result(60)
    assert answer.is_error
    assert answer.result["error"]["code"] == "job_not_found"
    assert f"the job root {root} was deleted during this call" in answer.result["error"]["message"]
    until(lambda: not processes.is_alive(supervisor), what="the end of its supervisor")


@pytest.mark.fault("F77")
def test_the_command_line_names_the_processes_of_a_deleted_job_and_the_root_of_another(
    cli: Cli, root: Path, place: Path
) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--", "sleep", "605")
    elsewhere = str(place / "another root")
    error = cli.error("--root", elsewhere, "status", job["job_id"], code="job_not_found")
    assert error["message"].endswith(f"in the job root {elsewhere}: it is in {root}")
    assert error["hint"] == f"Repeat the call with --root {root}."
    supervisor = pair.supervisor(job["job_id"])
    shutil.rmtree(root)
    for verb in ("status", "kill", "log"):
        error = cli.error(verb, job["job_id"], code="job_not_found")
        assert f"its directory was deleted; a process of it still runs: {job['pid']} (sleep 605)" in error["message"]
        assert error["hint"].startswith(f"`kill {job['pid']}` ends it.")
    assert cli.ok("list")["jobs"] == []
    os.kill(job["pid"], signal.SIGTERM)
    until(lambda: not processes.is_alive(supervisor), what="the end of its supervisor")


@pytest.mark.fault("F77")
@MODERN_FIRST
def test_no_other_client_is_told_of_a_lost_job(mcp_connect: Callable[..., McpSession], root: Path) -> None:
    mine, other = mcp_connect(client_name="mine"), mcp_connect(client_name="other", args=("--isolate",))
    job = background(mine, "exec sleep 606")
    pid = mine.ok("process", action="status", job_id=job, detail="full")["pid"]
    supervisor = pair.supervisor(job)
    other.ok("process", action="list")
    shutil.rmtree(root)
    assert "notices" not in other.ok("process", action="list")
    error = other.error("process", action="status", job_id=job, code="job_not_found").result["error"]
    assert error["message"] == f"no job {job!r}"
    assert mine.ok("process", action="list")["notices"][0]["job_id"] == job
    os.kill(pid, signal.SIGKILL)
    until(lambda: not processes.is_alive(supervisor), what="the end of its supervisor")
