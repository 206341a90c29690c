"""Ends that no plan foresees: a deleted directory, a dropped cookie, a killed spare, data that was half delivered."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support import pair, processes
from support.cli import Cli, Jobs
from support.mcp_client import McpSession, RawMcp
from support.preloaded import MAIN, OUTLIVE
from support.tiers import MODERN_FIRST, first
from support.wait import until


@pytest.mark.fault("F34")
@pytest.mark.parametrize("verb", ["kill", "remove"])
def test_an_adopted_command_without_its_cookie_can_be_ended(cli: Cli, jobs: Jobs, verb: str) -> None:
    started = cli.ok("run", "--snapshot-after", "0", "--", "env", "-i", "/bin/sleep", "77")
    pair.end_pair(started["job_id"])
    assert cli.ok("status", started["job_id"])["state"] == "running"
    cli.ok(verb, started["job_id"], "--grace-ms", "1000")
    assert not processes.is_alive(started["pid"])
    jobs.end()


def test_a_command_that_ends_while_it_is_adopted_is_not_waited_for_for_ever(cli: Cli) -> None:
    started = cli.ok("run", "--snapshot-after", "0", "--", "sleep", "77")
    pair.end_pair(started["job_id"])
    os.kill(started["pid"], signal.SIGSTOP)  # alive for each look, and ended before an adopter opens it
    call = cli.spawn("status", started["job_id"])
    os.kill(started["pid"], signal.SIGKILL)
    call.communicate(timeout=60)
    ended = cli.ok("wait", started["job_id"], "--timeout-ms", "50s")
    assert ended["state"] in ("killed", "failed"), ended
    cli.ok("remove", started["job_id"])


def test_a_job_started_by_a_notification_command_is_a_job_like_any_other(cli: Cli, jobs: Jobs, work: Path) -> None:
    inner = f"{shlex.join(OUTLIVE)} run --snapshot-after 0 --title inner 'sleep 61 & sleep 60'"
    cli.ok("run", "--notify-command", inner, "true")

    def found() -> str | None:
        listed = cli.ok("list", "--all")["jobs"]
        return next((job["job_id"] for job in listed if job["name"] == "inner" and job["state"] == "running"), None)

    job = until(found, what="the inner job")
    assert isinstance(job, str)
    until(lambda: cli.ok("status", job)["descendants"] >= 1, what="its second process")
    assert cli.ok("kill", job)["survivors"] == []
    jobs.end()


def test_a_grace_that_began_before_a_takeover_ends_with_the_kill(cli: Cli, jobs: Jobs) -> None:
    deaf = "sh -c 'trap \"\" TERM; echo deaf; while :; do sleep 0.05; done' & sleep 100"
    job = cli.ok("run", "--snapshot-after", "0", deaf)["job_id"]
    cli.ok("wait", job, "--until", "output", "--timeout-ms", "50s")
    cli.ok("kill", job, "--grace-ms", "1500", "--wait-ms", "100")
    pair.end(pair.supervisor(job))
    until(lambda: cli.ok("status", job)["state"] == "killed", what="the end of the command")
    pair.until_free(cli.root, job)
    jobs.end()


def test_what_was_given_as_stdin_arrives_though_the_supervisor_is_killed_in_between(cli: Cli) -> None:
    data = "0123456789" * 13_000  # more than a pipe holds
    job = cli.ok("run", "--snapshot-after", "0", "--stdin", "open", "--stdin-data", data,
                 "until [ -e go ]; do sleep 0.1; done; head -c 130000 | cksum")["job_id"]  # fmt: skip
    pair.take_over(job)
    Path("go").touch()
    expected = subprocess.run(["cksum"], input=data.encode(), capture_output=True, check=True).stdout.decode()
    assert cli.ok("wait", job, "--timeout-ms", "50s")["output"] == expected


@pytest.mark.fault("F21")
def test_a_supervisor_whose_directory_was_deleted_ends_with_its_command(cli: Cli, root: Path) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "until [ -e go ]; do sleep 0.1; done")["job_id"]
    supervisor = pair.supervisor(job)
    shutil.rmtree(root / job)
    cli.error("status", job, code="job_not_found")
    Path("go").touch()
    until(lambda: not processes.is_alive(supervisor), what="the end of its supervisor")


@pytest.mark.parametrize("who", first(1, ["both", "guardian", "supervisor"]))
def test_a_spare_that_was_killed_costs_no_start(raw_mcp: Callable[..., RawMcp], jobs: Jobs, who: str) -> None:
    server = raw_mcp()
    job = server.call("exec", command="sleep 60", yield_ms=0)["job_id"]
    ours = {pair.guardian(job), pair.supervisor(job)}
    fork_server = pair.fork_server(job)

    def spare_pair() -> dict[str, int]:
        below = processes.descendants(fork_server) - ours
        found = {pair.comm(pid): pid for pid in below if pair.comm(pid) in (pair.GUARDIAN, pair.SUPERVISOR)}
        return found if len(found) == 2 else {}

    spare = until(spare_pair, what="the next pair")
    names = {"guardian": [pair.GUARDIAN], "supervisor": [pair.SUPERVISOR]}.get(who, [pair.GUARDIAN, pair.SUPERVISOR])
    pair.end(*(spare[name] for name in names))
    found = server.call("exec", command="echo here; exit 4")
    assert (found["exit_code"], found["output"]) == (4, "here\n")
    jobs.end()


@MODERN_FIRST
def test_a_wait_that_names_a_job_that_is_not_there_keeps_nothing_open(mcp_session: McpSession) -> None:
    job = mcp_session.ok("exec", command="true")["job_id"]
    before = _open(mcp_session.pid)
    for _ in range(20):
        mcp_session.error("process", code="job_not_found", action="wait", job_id=[job, "ZZZZZZZZ"])
    until(lambda: _open(mcp_session.pid) <= before, what="no more open files than before")


def _open(pid: int) -> int:
    """How many files a server has open, but for code: a thread reads that of packages after its first answer, and holds
    it in an image."""
    found = processes.open_files(pid).values()
    return sum("site-packages" not in target and "memfd:outlive" not in target for target in found)


def test_a_fifo_as_stdin_or_env_file_holds_up_nobody(cli: Cli) -> None:
    os.mkfifo("fifo")
    cli.error("run", "--env-file", "fifo", "true", code="invalid_argument")
    assert cli.ok("run", "--stdin", "@fifo", "cat")["exit_code"] == 0


# A command line whose supervisor takes a second to let go of a job that it could not start
SLOW_TO_LET_GO = f"""
import sys, time
from outlive.supervisor.starting import start
refuse = start._refuse
def slowly(*given):
    refuse(*given)
    time.sleep(1)
start._refuse = slowly
{MAIN}"""


def test_a_start_that_failed_before_anything_ran_can_be_tried_again(cli: Cli, root: Path) -> None:
    job = cli.ok("create", "echo at last")["job_id"]
    fifo = root / job / ".io" / "stdout"
    fifo.unlink()
    fifo.mkdir()
    told = subprocess.run([sys.executable, "-c", SLOW_TO_LET_GO, "start", job], capture_output=True, check=False)
    assert json.loads(told.stdout)["error"]["code"] == "launch_failed"
    fifo.rmdir()
    os.mkfifo(fifo, 0o600)
    assert cli.ok("start", job)["output"] == "at last\n"


def test_a_job_whose_state_cannot_be_read_is_not_killed_but_removed(cli: Cli, root: Path) -> None:
    job = cli.ok("create", "echo out")["job_id"]
    (root / job / "state.json").write_bytes(b"\0" * 64)
    assert "remove" in cli.error("kill", job, code="invalid_state")["hint"]
    cli.ok("remove", job)
    cli.error("status", job, code="job_not_found")
