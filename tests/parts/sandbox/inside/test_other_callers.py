"""Where a job in a sandbox has written, no program of outlive's own is taken from, by no caller and from nowhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.cli import Cli, configured
from support.face import Face

PLANT = "mkdir bin; printf '#!/bin/sh\\ntouch %s/ran\\nexit 1\\n' $PWD > bin/sbatch; chmod +x bin/sbatch"
HOST = '[hosts.cluster]\nkind = "slurm"\n'


@pytest.mark.parametrize("gone", [False, True])
def test_a_directory_without_any_sign_of_a_project_is_known_to_all(
    face: Face, cli: Cli, place: Path, work: Path, gone: bool
) -> None:
    """`gone`: the job that wrote it is known to no store any more."""
    configured(place, HOST)
    wrote = face.ok("run", command=PLANT, sandbox="workspace-write")["job_id"]
    assert face.ok("wait", wrote)["exit_code"] == 0
    if gone:
        face.ok("remove", wrote)
    env = {"PATH": f"{work}/bin"}
    elsewhere = place / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    for root in (place / "root", place / "another"):
        error = cli.error(
            "--root", str(root), "run", "--host", "cluster", "true", code="launch_failed", env=env, cwd=elsewhere
        )
        assert f"{work}/bin/sbatch" in error["message"]
    assert not (work / "ran").exists()


def test_a_job_that_could_not_write_leaves_its_directory_trusted(cli: Cli, place: Path, work: Path) -> None:
    configured(place, HOST)
    assert cli.ok("run", "--wait", "--sandbox", "read-only", "true")["exit_code"] == 0
    (work / "bin").mkdir()
    (work / "bin/sbatch").write_text(f"#!/bin/sh\ntouch {work}/ran\nexit 1\n", encoding="utf-8")
    (work / "bin/sbatch").chmod(0o755)
    env = {"PATH": f"{work}/bin:{os.environ['PATH']}"}
    cli.error("run", "--host", "cluster", "true", code="launch_failed", env=env, cwd=place)
    assert (work / "ran").exists()
