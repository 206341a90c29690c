"""A start on another host whose process is killed at any step: the command ran once, or never and the job says so."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from outlive.store import atomic_file
from outlive.store.inspection.unseen_end import NOT_ASKED
from outlive.system import fault_points
from parts.hosts.test_ssh import box as box  # noqa: PLC0414 - a fixture
from parts.hosts.test_ssh import is_held
from support import fake_slurm, processes
from support.cli import Cli
from support.fake_ssh import PYTHON, FakeSsh
from support.jobs import job_ids
from support.tiers import only
from support.wait import until

CODE = 7
LAUNCHER = ("make_visible", "host_recorded", "host_handed")
MIRROR = tuple(point for point in fault_points.POINTS if point.startswith("mirror_"))
NEVER_RUN_OVER_SSH = {"make_visible", "host_recorded", "mirror_told", "mirror_asked"}
# What Slurm takes is run here, as its daemon would run it
RUNS = f"""#!{PYTHON} -IS
import os, subprocess, sys
script = [word for word in sys.argv[1:] if not word.startswith("--")]
subprocess.Popen(["sh", *script], env={{**os.environ, "SLURM_JOB_ID": "7"}}, start_new_session=True,
                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(7)
"""
SILENT = "#!/bin/sh\nexit 0\n"


def at(point: str, work: Path) -> dict[str, str | None]:
    return {fault_points.VARIABLE: point, fault_points.REPORT: str(work / "crashes")}


def start(cli: Cli, work: Path, point: str, host: str, command: str) -> tuple[str, bool]:
    """Start a job while one of its processes dies at `point`. Return its id, and whether the launcher answered."""
    sinks = ("--notify-file", str(work / "told"))
    text = cli.text("run", "--host", host, *sinks, "--snapshot-after", "0", "--", command, env=at(point, work))
    died = until(lambda: (work / "crashes").read_text(encoding="utf-8").split(), what=f"a death at {point}")
    assert died == [point]
    (job,) = job_ids(cli.root)
    return job, text.status != -signal.SIGKILL


def check_never_ran(cli: Cli, job: str, work: Path) -> dict[str, Any]:
    """The first reader decides, every other one finds the same, and nobody waits."""
    ended = cli.ok("wait", job, "--timeout-ms", "50s")
    for found in (ended, cli.ok("status", job), cli.ok("kill", job)):
        assert (found["state"], found["reason"], found["exit_code"]) == ("failed", "launch", None), found
        assert found["message"].endswith("it never ran"), found
    until((work / "told").exists, what="the sink is told")
    until(lambda: not is_held(cli, job), what="the process that told it has let go")
    (line,) = (work / "told").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["state"] == "failed"
    kinds = [one["type"] for one in cli.ok("events", job)["events"]]
    assert kinds.count("finished") == 1 and "started" not in kinds
    cli.ok("remove", job)
    return ended


def check_whole(cli: Cli, job: str, runs: Path) -> None:
    assert cli.ok("wait", job, "--timeout-ms", "50s")["exit_code"] == CODE
    until(lambda: not is_held(cli, job), what="its processes have let go")
    assert runs.read_text(encoding="utf-8") == "run\n"


@pytest.mark.fault("H25")
@pytest.mark.parametrize("point", only({"make_visible", "mirror_asked"}.__contains__, [*LAUNCHER, *MIRROR]))
def test_a_death_at_any_point_of_a_start_over_ssh_leaves_one_run_or_a_job_that_never_ran(
    cli: Cli, box: FakeSsh, work: Path, point: str
) -> None:
    runs = box.home / "runs"
    job, answered = start(cli, work, point, "box", f"echo run >> runs; exit {CODE}")
    assert answered == (point in MIRROR)
    if point in NEVER_RUN_OVER_SSH:
        check_never_ran(cli, job, work)
        assert not runs.exists()
    elif point == "host_handed":
        check_whole(cli, job, runs)
    else:  # the other machine may have read what was sent, or not
        ended = cli.ok("wait", job, "--timeout-ms", "50s")
        ran = runs.read_text(encoding="utf-8") if runs.exists() else ""
        assert (ended["state"], ran) in (("exited", "run\n"), ("failed", ""))
    box.wait_empty()


@pytest.mark.fault("H25")
def test_a_host_that_is_out_of_reach_does_not_hide_that_a_job_never_ran(cli: Cli, box: FakeSsh, work: Path) -> None:
    job, _ = start(cli, work, "host_recorded", "box", "true")
    box.down()
    assert check_never_ran(cli, job, work)["message"] == NOT_ASKED
    assert box.calls == []


@pytest.mark.fault("H25")
def test_a_first_login_that_fails_after_the_death_of_its_caller_ends_the_job(
    cli: Cli, box: FakeSsh, work: Path
) -> None:
    """The login hangs until the caller is dead, and fails then."""
    gate = work / "gate"
    os.mkfifo(gate)
    (box.bin / "ssh").write_text(f"#!/bin/sh\nread line <{gate}\necho No route to host >&2\nexit 255\n")
    job, answered = start(cli, work, "host_handed", "box", "true")
    assert not answered and cli.ok("status", job)["state"] == "created"
    gate.write_text("on\n")
    ended = check_never_ran(cli, job, work)
    assert ended["message"] == "host 'box' cannot be reached: No route to host; it never ran"


@pytest.mark.fault("H25")
def test_a_job_that_create_made_for_a_host_still_waits_for_its_start(cli: Cli, box: FakeSsh, work: Path) -> None:
    job = cli.ok("create", "--host", "box", "--", "echo run >> runs; exit 7")["job_id"]
    assert cli.text("start", job, env=at("start_taken", work)).status == -signal.SIGKILL
    assert cli.ok("status", job)["state"] == "created"
    cli.ok("start", job)
    check_whole(cli, job, box.home / "runs")
    box.wait_empty()


@pytest.mark.fault("H25")
@pytest.mark.parametrize("point", only({"make_visible", "host_handed"}.__contains__, LAUNCHER))
def test_a_death_at_any_point_of_a_submission_leaves_one_run_or_a_job_that_never_ran(
    cli: Cli, place: Path, work: Path, point: str
) -> None:
    fake_slurm.programs(place, {"sbatch": RUNS, "squeue": SILENT, "scancel": SILENT})
    job, answered = start(cli, work, point, "cluster", f"echo run >> {work}/runs; exit {CODE}")
    assert not answered
    if point == "host_handed":
        check_whole(cli, job, work / "runs")
        return
    if point == "host_recorded":  # Slurm has no record of it, and had the time to make one
        path = cli.root / job / "engine.json"
        record = atomic_file.load(path.read_bytes())
        path.write_bytes(atomic_file.dump(record | {"submitted": 86_400.0, "ended_seen": 86_400.0}))
    check_never_ran(cli, job, work)
    assert not (work / "runs").exists()
    assert not [pid for pid in processes.of(place) if processes.name(pid) == "outrunner"]
