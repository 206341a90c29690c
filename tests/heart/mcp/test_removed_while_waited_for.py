"""A wait for the end of a job that is removed while the waiting process is stopped is answered, and does not go on."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from outlive.store.job_dir import LOCK
from support import processes
from support.cli import Cli, Jobs
from support.mcp_client import McpSession
from support.wait import until


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        until(lambda: processes.state(pid) == "T", what="the stop of the waiting process")
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def running(jobs: Jobs) -> str:
    return str(
        until(lambda: [job for job in jobs.all() if job["state"] == "running"], what="a running job")[0]["job_id"]
    )


def let_go(pid: int, job: str) -> None:
    """Wait until the process that started a job has left the job's lock to the supervisor. Stopped before that, it
    would hold the job, which then could not be deleted."""
    lock = f"/{job}/{LOCK}"
    until(lambda: not any(path.endswith(lock) for path in processes.open_files(pid).values()), what="its lock let go")


@pytest.mark.parametrize("words", [("run", "--wait"), ("run", "--snapshot-after", "10m")], ids=["wait", "snapshot"])
def test_on_the_command_line(cli: Cli, jobs: Jobs, words: tuple[str, ...]) -> None:
    with cli.spawn(*words, "sleep 300") as call:
        try:
            job = running(jobs)
            let_go(call.pid, job)
            with stopped(call.pid):
                cli.ok("remove", job)
            told, _ = call.communicate(timeout=60)
        finally:
            call.kill()
    error = json.loads(told)["error"]
    assert (call.returncode, error["code"]) == (1, "job_not_found")
    assert job in error["message"]


@pytest.mark.parametrize("era", ["modern"], indirect=True)
def test_over_mcp(cli: Cli, jobs: Jobs, mcp_connect: Callable[..., McpSession]) -> None:
    session = mcp_connect(args=("--tools", "exec"))
    call = session.begin("exec", command="sleep 300")
    job = running(jobs)
    let_go(session.pid, job)
    with stopped(session.pid):
        cli.ok("remove", job)
    answer = call.result(60)
    assert answer.is_error
    assert answer.result["error"]["code"] == "job_not_found"
    assert session.ok("exec", command="echo next")["output"] == "next\n"
