"""Jobs that start after others, where not all of them run on this machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from parts.hosts.test_host_starts import RUNS, SILENT
from parts.hosts.test_ssh import box as box  # noqa: PLC0414 - a fixture
from parts.hosts.test_ssh import mirror_of
from support import fake_slurm, pair, processes
from support.cli import Cli
from support.commands import GATE
from support.face import Face
from support.fake_ssh import FakeSsh
from support.mcp_client import McpSession
from support.wait import until


@pytest.fixture
def era() -> str:
    """Which era carries an answer makes no difference to it."""
    return "modern"


@pytest.fixture
def cluster(box: FakeSsh, place: Path) -> None:
    """A host `cluster` besides `box`: what its Slurm takes is run here."""
    programs = place / "programs"
    programs.mkdir()
    for name, script in {"sbatch": RUNS, "squeue": SILENT, "scancel": SILENT}.items():
        fake_slurm.put(programs, name, script)
    with (place / "home/.config/outlive/config.toml").open("a", encoding="utf-8") as file:
        file.write(f'[hosts.cluster]\nkind = "slurm"\nprograms = "{programs}"\n')


@pytest.fixture(params=["cli", "mcp"])
def face(request: pytest.FixtureRequest, cli: Cli, cluster: None, mcp_connect: Callable[..., McpSession]) -> Face:
    return Face(request.param, cli, mcp_connect())


def gated(work: Path, then: str) -> str:
    """A command that goes on once the file `go` is in this directory, from whichever one it is started."""
    return f"cd {work}; {GATE}; {then}"


def looker(job: str) -> int:
    """Return the pid of the process that looks at what a job waits for."""
    supervisor = pair.supervisor(job)

    def found() -> int:
        below = processes.descendants(supervisor)
        return next((pid for pid in below if "after.waiter" in " ".join(processes.command_line(pid))), 0)

    return until(found, what="the process that looks")


# --- a job of this machine after one of another -----------------------------------------------------------------------


@pytest.mark.parametrize("host", ["box", "cluster"])
def test_a_job_here_starts_after_one_of_another_machine(host: str, face: Face, box: FakeSsh, work: Path) -> None:
    build = face.background(gated(work, "echo built >> order"), title="build", host=host)
    job = face.ok("run", command="echo tested >> order", after=[build], yield_ms=0)
    assert (job["state"], [one["job_id"] for one in job["waiting_for"]]) == ("created", [build])
    (work / "go").touch()
    ended = face.ok("wait", job["job_id"], timeout_ms=50_000)
    assert (ended["state"], ended["exit_code"]) == ("exited", 0)
    assert (work / "order").read_text(encoding="utf-8") == "built\ntested\n"
    box.wait_empty()


@pytest.mark.parametrize("host", ["box", "cluster"])
def test_it_fails_and_says_why_if_that_one_did_not_end_well(host: str, face: Face, box: FakeSsh, work: Path) -> None:
    build = face.background(gated(work, "exit 3"), title="build", host=host)
    job = face.background("touch ran", after=[build])
    (work / "go").touch()
    ended = face.ok("wait", job, timeout_ms=50_000)
    assert (ended["state"], ended["reason"]) == ("failed", "dependency")
    assert "(build) to exit with 0, and that exited with code 3" in ended["message"]
    assert not (work / "ran").exists()
    box.wait_empty()


def test_a_line_of_a_job_there_can_be_waited_for(face: Face, box: FakeSsh, work: Path) -> None:
    web = face.background(gated(work, "echo ready; while :; do sleep 0.05; done"), host="box")
    job = face.background("true", after=[{"job": web, "regex": "ready"}])
    (work / "go").touch()
    assert face.ok("wait", job, timeout_ms=50_000)["exit_code"] == 0
    face.ok("kill", web)
    box.wait_empty()


@pytest.mark.parametrize("which", ["looker", "pair", "mirror", "all"])
def test_it_waits_on_whichever_process_is_killed(which: str, cli: Cli, box: FakeSsh, work: Path) -> None:
    build = cli.ok("run", "--host", "box", "--snapshot-after", "0", gated(work, "echo built >> order"))["job_id"]
    job = cli.ok("run", "--after", build, "--snapshot-after", "0", "echo tested >> order")["job_id"]
    looks = looker(job)
    if which in ("mirror", "all"):
        os.kill(mirror_of(build), signal.SIGKILL)
    if which in ("pair", "all"):
        pair.end_both(pair.supervisor(job))
    if which == "looker":
        os.kill(looks, signal.SIGKILL)
    cli.ok("list", "--all")
    (work / "go").touch()
    assert cli.ok("wait", job, "--timeout-ms", "50000")["exit_code"] == 0
    assert (work / "order").read_text(encoding="utf-8") == "built\ntested\n"
    box.wait_empty()
    until(lambda: not mirrors(build), what="the mirror is done")


def mirrors(job: str) -> list[int]:
    return [
        pid
        for pid in processes.all_pids()
        if processes.name(pid) == "outmirror" and job in str(processes.command_line(pid))
    ]


def test_it_waits_while_the_machine_cannot_be_reached(cli: Cli, box: FakeSsh, work: Path) -> None:
    build = cli.ok("run", "--host", "box", "--snapshot-after", "0", gated(work, "echo built >> order"))["job_id"]
    job = cli.ok("run", "--after", build, "--snapshot-after", "0", "echo tested >> order")["job_id"]
    box.down()
    (work / "go").touch()
    until((work / "order").exists, what="the end of the job there")
    until(lambda: cli.ok("status", build).get("reachable") is False, what="it is out of reach")
    assert cli.ok("status", job)["state"] == "created"
    box.up()
    assert cli.ok("wait", job, "--timeout-ms", "90000")["exit_code"] == 0
    assert (work / "order").read_text(encoding="utf-8") == "built\ntested\n"
    box.wait_empty()
