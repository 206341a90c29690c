"""Jobs that Slurm's controller has forgotten, with programs that stand for Slurm's: its accounting is asked (sacct)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from outlive.store import atomic_file
from support import fake_slurm
from support.cli import Cli
from support.fake_slurm import TAKES, put

FORGETS = "#!/bin/sh\nexit 0\n"
# An sbatch that takes every job, runs none, and notes its name
NAMES = "#!/bin/sh\nfor word; do case $word in --job-name=*) echo ${{word#*=}} > {place}/name;; esac; done\necho 7\n"
SACCT = "#!/bin/sh\nprintf '%s\\n' \"$@\" > {place}/asked\nname=$(cat {place}/name)\n{then}\n"


@pytest.fixture
def programs(place: Path) -> Path:
    found = fake_slurm.programs(place, {"sbatch": TAKES, "squeue": FORGETS, "scancel": FORGETS})
    put(found, "sbatch", NAMES.format(place=found))
    return found


def forgotten(cli: Cli, **engine: Any) -> dict[str, Any]:
    """Return the status of a job that was submitted long ago, and that squeue does not show."""
    job = cli.ok("run", "--host", "cluster", "--snapshot-after", "0", "true")["job_id"]
    path = cli.root / job / "engine.json"
    record = atomic_file.load(path.read_bytes())
    record["engine"] |= engine
    path.write_bytes(atomic_file.dump(record | {"submitted": 86_400.0, "ended_seen": 86_400.0}))
    return cli.ok("status", job)


@pytest.mark.parametrize(
    ("said", "state", "reason"),
    [("CANCELLED by 1000", "failed", "kill"), ("OUT_OF_MEMORY", "failed", "oom"), ("TIMEOUT", "failed", "timeout")],
)
def test_the_accounting_says_how_a_forgotten_job_ended(
    cli: Cli, programs: Path, said: str, state: str, reason: str
) -> None:
    put(programs, "sacct", SACCT.format(place=programs, then=f'echo "7|$name|{said}"'))
    found = forgotten(cli)
    assert (found["state"], found["reason"], found["exit_code"]) == (state, reason, None)
    assert found["engine"] == {"name": "slurm", "job_id": "7", "state": said.split(maxsplit=1)[0]}
    assert "--jobs=7" in (programs / "asked").read_text().split("\n")


def test_the_accounting_finds_a_job_by_its_name_if_its_submission_was_not_recorded(cli: Cli, programs: Path) -> None:
    put(programs, "sacct", SACCT.format(place=programs, then='echo "9|$name|CANCELLED"'))
    found = forgotten(cli, job_id=None)
    assert (found["reason"], found["engine"]["job_id"]) == ("kill", "9")
    assert f"--name={found['job_id']}" in (programs / "asked").read_text().split("\n")


@pytest.mark.parametrize(
    "then",
    [
        "exit 0",
        "echo 'Slurm accounting storage is disabled' >&2; exit 1",
        'echo "7|$name|RUNNING"',
        'echo "7|another|CANCELLED"',
    ],
)
def test_an_accounting_that_knows_no_end_makes_none_up(cli: Cli, programs: Path, then: str) -> None:
    put(programs, "sacct", SACCT.format(place=programs, then=then))
    found = forgotten(cli)
    assert (found["state"], found["reason"], found["engine"]["state"]) == ("failed", "launch", "FORGOTTEN")


def test_a_cluster_without_accounting_forgets_for_good(cli: Cli, programs: Path) -> None:
    found = forgotten(cli)
    assert (found["state"], found["reason"], found["engine"]["state"]) == ("failed", "launch", "FORGOTTEN")
    assert found["message"] == "Slurm had taken it, and has no record of it any more; it never ran"
    found = forgotten(cli, job_id=None)
    assert found["message"] == "Slurm does not know it: the process that submitted it was killed before; it never ran"


def test_a_job_is_cancelled_by_its_name_and_not_by_a_number(cli: Cli, programs: Path) -> None:
    put(programs, "scancel", f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {programs}/cancelled\n")
    put(programs, "squeue", "#!/bin/sh\nexit 1\n")  # its controller is down: the job may wait
    job = cli.ok("run", "--host", "cluster", "--snapshot-after", "0", "true")["job_id"]
    killed = cli.ok("kill", job)
    assert (killed["state"], killed["ended_signal"], killed["reason"]) == ("failed", None, "kill")
    assert (programs / "cancelled").read_text() == f"--name={job}\n"


def test_a_job_whose_submission_could_not_even_be_tried_can_still_be_started(cli: Cli, programs: Path) -> None:
    job = cli.ok("create", "--host", "cluster", "true")["job_id"]
    (programs / "sbatch").unlink()
    cli.error("start", job, code="launch_failed")
    assert cli.ok("status", job)["state"] == "created"
    put(programs, "sbatch", TAKES)
    assert cli.ok("start", job, "--snapshot-after", "0")["engine"]["job_id"] == "7"
