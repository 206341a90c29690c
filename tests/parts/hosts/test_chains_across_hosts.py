"""Several jobs of one call, some of which run on another machine: all of them, in order, or none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from parts.after.test_chains_half_made import KILLED
from parts.after.test_chains_on_both import Run, toml_of
from parts.after.test_chains_on_both import chain as chain  # noqa: PLC0414 - a fixture
from parts.hosts.test_after_across_hosts import cluster as cluster  # noqa: PLC0414 - a fixture
from parts.hosts.test_after_across_hosts import era as era  # noqa: PLC0414 - a fixture
from parts.hosts.test_after_across_hosts import face as face  # noqa: PLC0414 - a fixture
from parts.hosts.test_ssh import box as box  # noqa: PLC0414 - a fixture
from support.cli import Cli, environment
from support.face import Face
from support.fake_ssh import FakeSsh
from support.jobs import job_ids
from support.tiers import IN_TURN


def says(work: Path, name: str) -> str:
    """A command that writes a name into the file `order` of this directory, from whichever one it is started."""
    return f"echo {name} >> {work}/order"


def order(work: Path) -> list[str]:
    path = work / "order"
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def test_jobs_of_a_chain_run_on_their_machines_in_order(face: Face, chain: Run, box: FakeSsh, work: Path) -> None:
    jobs: list[dict[str, Any]] = [
        {"name": "build", "command": says(work, "build")},
        {"name": "test", "command": says(work, "test"), "host": "box", "after": ["build"]},
        {"name": "train", "command": says(work, "train"), "host": "cluster", "after": ["test"]},
        {"name": "fetch", "command": says(work, "fetch"), "after": ["train"]},
    ]
    started = chain(jobs)
    every = [face.ok("wait", one["job_id"], timeout_ms=50_000) for one in started["jobs"]]
    assert [(one["exit_code"], one.get("host")) for one in every] == [(0, None), (0, "box"), (0, "cluster"), (0, None)]
    assert order(work) == [one["name"] for one in started["jobs"]] == ["build", "test", "train", "fetch"]
    box.wait_empty()


def test_the_host_of_the_call_is_that_of_each_job_that_has_none(
    face: Face, chain: Run, box: FakeSsh, work: Path
) -> None:
    """Those that wait for none start when the last one is there, on whichever machines."""
    jobs: list[dict[str, Any]] = [
        {"name": "there", "command": says(work, "there")},
        {"name": "here", "command": says(work, "here"), "host": "local"},
        {"name": "train", "command": says(work, "train"), "host": "cluster"},
        {"name": "last", "command": says(work, "last"), "after": ["there", "here", "train"]},
    ]
    started = chain(jobs, host="box")
    every = [face.ok("wait", one["job_id"], timeout_ms=50_000) for one in started["jobs"]]
    assert [(one["exit_code"], one.get("host")) for one in every] == [(0, "box"), (0, None), (0, "cluster"), (0, "box")]
    assert (sorted(order(work)[:3]), order(work)[3:]) == (["here", "there", "train"], ["last"])
    box.wait_empty()


@IN_TURN
@pytest.mark.parametrize(
    ("job", "said"),
    [
        ({"host": "bx"}, "job there: no host 'bx'"),
        ({"host": "box", "after": ["elsewhere"]}, "job there: "),
        ({"host": "box", "ports": ["web"]}, "job there: "),
        ({"host": "box", "after": [{"job": "here", "port": "web"}]}, "job there: "),
    ],
)
def test_a_chain_with_a_job_that_its_host_could_not_run_is_refused_as_a_whole(
    job: dict[str, Any], said: str, face: Face, chain: Run, box: FakeSsh, work: Path
) -> None:
    code = "job_not_found" if "elsewhere" in str(job) else "invalid_argument"
    here = {"name": "here", "command": says(work, "here")}
    error = chain([here, {"name": "there", "command": says(work, "there"), **job}], code=code)
    assert said in error["message"], error
    assert face.ok("list", all=True)["jobs"] == []
    assert (order(work), box.calls) == ([], [])


def test_a_chain_whose_host_is_out_of_reach_is_taken_back_and_nothing_of_it_ran(
    face: Face, chain: Run, box: FakeSsh, work: Path
) -> None:
    box.down()
    jobs: list[dict[str, Any]] = [
        {"name": "there", "command": says(work, "there"), "host": "box"},
        {"name": "last", "command": says(work, "last"), "after": [{"job": "there", "until": "exit"}]},
    ]
    error = chain(jobs, code="io_error")
    assert error["message"].startswith("job there: ")
    assert "The other jobs of the chain were ended and deleted." in error["hint"]
    assert face.ok("list", all=True)["jobs"] == []
    assert order(work) == []


@pytest.mark.fault("H25")
@pytest.mark.parametrize("point", ["make_visible", "send_guardian", "send_done"])
def test_a_caller_that_is_killed_before_the_last_one_is_there_leaves_none_that_its_host_has(
    point: str, cli: Cli, box: FakeSsh, work: Path
) -> None:
    jobs: list[dict[str, Any]] = [
        {"name": "one", "command": says(work, "one"), "host": "box"},
        {"name": "next", "command": says(work, "next"), "host": "box", "after": ["one"]},
        {"name": "other", "command": says(work, "other"), "host": "box"},
    ]
    (work / "jobs.toml").write_text(toml_of(jobs), encoding="utf-8")
    words = [sys.executable, "-c", KILLED, point, "3"]
    assert subprocess.run(words, env=environment(), cwd=work, timeout=60, check=False).returncode == -9
    for job in job_ids(cli.root):
        cli.ok("wait", job, "--timeout-ms", "50s")
    ended = {one["name"]: one for one in (cli.ok("status", job) for job in job_ids(cli.root))}
    assert {*ended} == {"one", "next", "other"}
    if point == "send_done":
        assert {one["exit_code"] for one in ended.values()} == {0}
        assert sorted(order(work)) == ["next", "one", "other"]
    else:
        assert {one["state"] for one in ended.values()} == {"failed"}
        assert (order(work), box.jobs()) == ([], [])
    box.wait_empty()
