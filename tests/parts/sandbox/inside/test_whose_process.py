"""Whose a process is: a job in a sandbox passes none of its processes off as one of another job."""

from __future__ import annotations

from pathlib import Path

import pytest

from parts.sandbox.inside.test_works_inside import INSIDE, PYTHON
from support.cli import Cli, Jobs
from support.jobs import background

SERVES = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); s.accept()"


def test_a_sandboxed_job_that_takes_the_id_of_another_one_is_not_taken_for_it(cli: Cli, jobs: Jobs, work: Path) -> None:
    innocent = background(cli, "exec sleep 60")
    # As a process of that job, and as a supervisor of it
    forged = f"""env OUTLIVE_JOB_ID={innocent} {PYTHON} -c "{SERVES}" & """
    named = f"""exec env -i {PYTHON} -c "import ctypes; ctypes.CDLL(None).prctl(15, b'outrunner'); {SERVES}" outrunner {innocent}"""
    for server in (f"{forged} wait", named):
        job = cli.ok("run", *INSIDE, "--network", "open", "--until", "regex=[0-9]", server, cwd=work)
        port, other = job["output"].strip(), job["job_id"]
        found = cli.ok("list", "--port", port, cwd=work)
        assert [one["job_id"] for one in found["jobs"]] == [other], server
        waited = cli.ok("wait", innocent, "--until", f"port={port}", "--timeout-ms", "20000")
        assert waited["fired"] is None
        assert waited["held_by"]["job_id"] == other, "the hint says which job to kill"
        assert cli.ok("status", innocent)["descendants"] == 0
        assert cli.ok("kill", other)["state"] == "killed", server
        assert cli.ok("status", innocent)["state"] == "running"
    jobs.end()


@pytest.mark.parametrize("where", [(), INSIDE])
def test_a_command_that_calls_itself_a_supervisor_is_ended_like_any_other(
    cli: Cli, jobs: Jobs, work: Path, where: tuple[str, ...]
) -> None:
    named = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'outrunner'); print(1, flush=True); time.sleep(600)"
    server = ("--", "/usr/bin/env", "-i", PYTHON, "-c", named)
    job = cli.ok("run", *where, "--until", "output", *server, cwd=work)["job_id"]
    killed = cli.ok("kill", job)
    assert (killed["state"], killed["survivors"]) == ("killed", [])


@pytest.mark.parametrize("given", [(), ("--env", "OUTLIVE_EVENT_TYPE=x")])
def test_a_process_that_calls_itself_a_notification_command_is_of_its_job(
    cli: Cli, jobs: Jobs, work: Path, given: tuple[str, ...]
) -> None:
    left = "OUTLIVE_EVENT_TYPE=x setsid sleep 600 > /dev/null 2>&1 & echo 1"
    job = cli.ok("run", *INSIDE, *given, "--wait", left, cwd=work)["job_id"]
    assert cli.ok("status", job)["descendants"] == 1
    cli.error("clear", job, code="invalid_state")
    assert cli.ok("remove", job)["state"] == "exited"
    jobs.end()
