"""Several machines see one root: each judges, adopts and deletes only what has its processes there."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from outlive.core.records import Machine
from outlive.system import machine
from support.cli import Cli, Jobs
from support.jobs import collected, job_ids
from support.processes import is_alive
from support.wait import until

HERE: dict[str, str | None] = {"OUTLIVE_MACHINE": "one"}
THERE: dict[str, str | None] = {"OUTLIVE_MACHINE": "two"}


@pytest.fixture
def orphan(cli: Cli, jobs: Jobs) -> dict[str, Any]:
    """A job of the first machine whose supervisor and guardian were killed."""
    job = cli.ok("run", "--snapshot-after", "0", "exec sleep 300", env=HERE)
    until(lambda: cli.ok("status", job["job_id"], env=HERE)["state"] == "running", what="it runs")
    kill_pair(cli, job["job_id"])
    return job


def kill_pair(cli: Cli, job: str) -> None:
    supervisor = cli.ok("status", job, env=HERE)
    state = (cli.root / job / "state.json").read_text()
    pid = json.loads(state)["supervisor"]["pid"]
    guardian = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    assert supervisor["supervised"]
    os.kill(guardian, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_alive(pid) and not is_alive(guardian), what="both are dead")


def test_another_machine_never_calls_a_job_lost(cli: Cli, orphan: dict[str, Any], jobs: Jobs) -> None:
    os.kill(orphan["pid"], signal.SIGKILL)
    until(lambda: not is_alive(orphan["pid"]), what="the command is dead")
    before = (cli.root / orphan["job_id"] / "state.json").read_bytes()
    seen = cli.ok("status", orphan["job_id"], env=THERE)
    assert (seen["state"], seen["machine"], seen.get("adopted", 0)) == ("running", "one", 0)
    assert "only there can be seen" in seen["hint"]
    assert cli.ok("list", "--all", env=THERE)["jobs"][0]["machine"] == "one"
    assert (cli.root / orphan["job_id"] / "state.json").read_bytes() == before
    at_home = cli.ok("status", orphan["job_id"], env=HERE)
    assert (at_home["state"], at_home["reason"]) == ("failed", "lost")
    assert "machine" not in at_home


def test_a_job_that_is_being_started_is_where_its_launcher_is(cli: Cli) -> None:
    with cli.stopped_at("send_request", "run", "true", env=HERE) as call:
        (job,) = job_ids(cli.root)
        seen = cli.ok("status", job, env=THERE)
        os.kill(call.pid, signal.SIGCONT)
        assert call.wait(60) == 0
    assert (seen["state"], seen["machine"]) == ("running", "one")


def test_another_machine_neither_adopts_nor_ends_nor_deletes_a_job(
    cli: Cli, orphan: dict[str, Any], jobs: Jobs
) -> None:
    job = orphan["job_id"]
    for verb in ("kill", "write"):
        words = ("--data", "x") if verb == "write" else ()
        assert not cli.run(verb, job, *words, env=THERE)["ok"]
    assert cli.error("kill", job, code="not_supported", env=THERE)["hint"] == "Repeat the call on one."
    for verb in ("remove", "clear"):
        error = cli.error(verb, job, code="invalid_state", env=THERE)
        assert (cli.root / job).is_dir(), error
    collected(cli, "--older-than", "0s", env=THERE)
    assert (cli.root / job).is_dir()
    assert not cli.ok("status", job, env=THERE)["supervised"]
    assert is_alive(orphan["pid"])
    until(lambda: cli.ok("status", job, env=HERE).get("adopted") == 1, what="at home it is looked after again")
    cli.ok("kill", job, env=HERE)
    jobs.end()


def test_what_has_ended_is_the_same_everywhere(cli: Cli) -> None:
    job = cli.ok("run", "--wait", "echo done; exit 3", env=HERE)
    seen = cli.ok("status", job["job_id"], env=THERE)
    assert (seen["state"], seen["exit_code"]) == ("exited", 3)
    assert cli.ok("tail", job["job_id"], env=THERE)["stdout_tail"] == "done\n"
    cli.ok("remove", job["job_id"], env=THERE)


def test_one_boot_is_one_machine_whatever_containers_call_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Machine(id="a" * 32, name="here", boot_id=machine.here().boot_id)
    monkeypatch.setattr(machine, "_here", here)
    assert not machine.is_other(Machine(id="b" * 32, name="container", boot_id=here.boot_id))
    assert machine.is_other(Machine(id="b" * 32, name="there", boot_id="another"))
    assert not machine.is_other(Machine(id="a" * 32, name="renamed", boot_id="before the reboot"))
    assert not machine.is_other(None)
