"""A group whose jobs run here and on another machine: each verb that takes the group takes both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parts.hosts.test_ssh import box as box  # noqa: PLC0414 - a fixture
from support import fake_slurm
from support.cli import Cli
from support.commands import GATE
from support.face import Face
from support.fake_ssh import FakeSsh
from support.mcp_client import McpSession
from support.wait import until

ENDLESS = "while :; do sleep 0.05; done"
SILENT = "#!/bin/sh\nexit 0\n"


@pytest.fixture
def era() -> str:
    """Which era carries an answer makes no difference to it."""
    return "modern"


@pytest.fixture(params=["cli", "mcp"])
def face(
    request: pytest.FixtureRequest, cli: Cli, box: FakeSsh, place: Path, mcp_connect: Callable[..., McpSession]
) -> Face:
    """Either face, where the configuration names a host `box`, and a host `cluster` whose Slurm takes jobs and runs none."""
    programs = place / "programs"
    programs.mkdir()
    for name, script in {"sbatch": fake_slurm.TAKES, "squeue": SILENT, "scancel": SILENT}.items():
        fake_slurm.put(programs, name, script)
    with (place / "home/.config/outlive/config.toml").open("a", encoding="utf-8") as file:
        file.write(f'[hosts.cluster]\nkind = "slurm"\nprograms = "{programs}"\n')
        file.write(f'[programs]\nssh = "{box.bin}/ssh"\n')  # the PATH of a login shell may lead to another one
    return Face(request.param, cli, mcp_connect())


def ids(answer: dict[str, Any]) -> set[str]:
    return {one["job_id"] for one in answer["jobs"]}


def gate(work: Path) -> str:
    """A command that ends once the file `go` is in this directory, from whichever one it is started."""
    return f"cd {work}; {GATE}"


def test_the_jobs_here_and_there_are_listed_read_counted_ended_and_removed(face: Face, box: FakeSsh) -> None:
    here = face.background(f"echo from here; {ENDLESS}", group="stack", title="db")
    there = face.background(f"echo from there; {ENDLESS}", group="stack", title="web", host="box")
    other = face.background(ENDLESS, group="another", host="box")
    assert ids(face.ok("list", group="stack")) == {here, there}
    for job in (here, there):
        face.until(job, lambda found: "from" in found["output"], "its output", verb="log")
    assert {*face.ok("log", group="stack")["output"].splitlines()} == {"db  | from here", "web | from there"}
    used = face.ok("usage", group="stack")
    each = {one["job_id"]: one["usage"]["output_bytes"] for one in used["jobs"]}
    assert each == {here: len("from here\n"), there: len("from there\n")}
    assert used["usage"]["output_bytes"] == sum(each.values())
    killed = face.ok("kill", group="stack")
    assert {(one["job_id"], one["state"], one["reason"]) for one in killed["jobs"]} == {
        (here, "killed", "kill"),
        (there, "killed", "kill"),
    }
    assert killed["hint"].startswith("Nothing of these jobs is left.")
    assert face.ok("status", other)["state"] == "running"
    assert ids(face.ok("remove", group="stack")) == {here, there}
    assert face.ok("remove", group="another")["job_id"] == other
    face.error("status", there, code="job_not_found")
    box.wait_empty()


def test_a_group_is_waited_for_wherever_its_jobs_run(face: Face, box: FakeSsh, work: Path) -> None:
    there = face.background(f"{gate(work)}; exit 3", group="suites", host="box")
    here = face.background("exit 4", group="suites")
    first = face.ok("wait", group="suites", timeout_ms=50_000)
    assert (first["job_id"], first["exit_code"], ids(first)) == (here, 4, {here, there})
    (work / "go").touch()
    every = face.ok("wait", group="suites", mode="all", timeout_ms=50_000)
    assert {one["job_id"]: one["exit_code"] for one in every["jobs"]} == {here: 4, there: 3}
    box.wait_empty()


def test_a_job_there_belongs_to_the_directory_here_in_which_it_was_started(
    cli: Cli, box: FakeSsh, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    mine = cli.ok("run", "--host", "box", "--group", "stack", "--wait", "true")["job_id"]
    theirs = cli.ok("run", "--host", "box", "--group", "stack", "--wait", "true", cwd=elsewhere)["job_id"]
    assert ids(cli.ok("list", "--group", "stack")) == ids(cli.ok("list")) == {mine}
    assert ids(cli.ok("list", "--group", "stack", cwd=elsewhere)) == ids(cli.ok("list", cwd=elsewhere)) == {theirs}
    again = cli.ok("restart", mine, "--wait", cwd=elsewhere)["job_id"]
    assert ids(cli.ok("list", "--group", "stack")) == {mine, again}
    box.wait_empty()


def test_what_an_ended_job_left_behind_there_ends_with_the_group(face: Face, box: FakeSsh, work: Path) -> None:
    command = f"({ENDLESS}) >/dev/null 2>&1 & echo $! > {work}/pid"
    face.ok("run", command=command, group="stack", host="box", yield_ms=50_000)
    pid = int((work / "pid").read_text())
    assert Path(f"/proc/{pid}").exists()
    assert face.ok("kill", group="stack")["exit_code"] == 0
    until(lambda: not Path(f"/proc/{pid}").exists(), what="the end of what was left")
    box.wait_empty()


def test_a_job_that_cannot_be_reached_is_named_and_the_others_are_ended(face: Face, box: FakeSsh) -> None:
    here, there = (face.background(ENDLESS, group="stack", **more) for more in ({}, {"host": "box"}))
    face.until(there, lambda found: found["state"] == "running", "it runs")
    box.down()
    face.until(there, lambda found: found.get("reachable") is False, "it is out of reach")
    killed = face.ok("kill", group="stack")
    each = {one["job_id"]: one for one in killed["jobs"]}
    assert each[here]["state"] == "killed"
    assert "box" in each[there]["error"]
    assert "Nothing of these jobs is left" not in (killed.get("hint") or "")
    box.up()
    face.until(there, lambda found: found.get("reachable") is not False, "it is back")
    assert face.ok("kill", group="stack")["state"] == "killed"
    box.wait_empty()


def test_jobs_in_the_queue_of_a_cluster_are_ended_with_the_group(face: Face) -> None:
    here, queued = (face.background(ENDLESS, group="stack", **more) for more in ({}, {"host": "cluster"}))
    assert ids(face.ok("list", group="stack")) == {here, queued}
    killed = face.ok("kill", group="stack")
    assert {one["job_id"]: (one["state"], one["reason"]) for one in killed["jobs"]} == {
        here: ("killed", "kill"),
        queued: ("failed", "kill"),
    }
