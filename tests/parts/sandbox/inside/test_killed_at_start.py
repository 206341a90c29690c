"""Supervisor, guardian and launcher killed when the command in a sandbox has started, and before any file says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from parts.sandbox.inside.test_break_out import Ground
from parts.sandbox.inside.test_break_out import ground as ground  # noqa: PLC0414 - a fixture
from support import pair, processes, wait
from support.tiers import first

# Not as root by default: root may look into process 1 of a sandbox, and open what is shut
pytestmark = pytest.mark.parametrize("user", first(1, ["other", "self"] if os.geteuid() == 0 else ["self"]))
INSIDE = ("run", "--sandbox", "workspace-write")
_DEATHS = ["send_done", "start_spawned", "guardian:takeover_locked"]


def _killed(ground: Ground, place: Path, *command: str) -> str:
    """Start a command, have all be killed that saw it start, and return its job."""
    ground.shell("git init -q .", place)
    deaths = place / "deaths"
    crash = {"OUTLIVE_CRASH_AT": ",".join(_DEATHS), "OUTLIVE_DEBUG_FILE": str(deaths)}
    ground.call(*INSIDE, "--snapshot-after", "0", "--", *command, cwd=place, **crash)
    wait.until(lambda: deaths.exists() and sorted(deaths.read_text().split()) == sorted(_DEATHS), what="the deaths")
    (job,) = (name for name in os.listdir(ground.root) if not name.startswith("."))
    return job


def test_what_a_command_made_is_told_though_no_file_says_that_it_ran(ground: Ground) -> None:
    place = ground.directory("attacks")
    job = _killed(ground, place, "sh", "-c", "mkdir .zed")
    wait.until((place / ".zed").exists, what="what the command makes")
    pair.until_free(ground.root, job)
    found = wait.until(lambda: (one := ground.outlive("status", job))["state"] != "running" and one, what="the end")
    assert (found["state"], found["reason"]) == ("failed", "lost")
    assert f"{place}/.zed" in found["message"]


def test_a_command_without_its_cookie_does_not_go_on_unseen(ground: Ground) -> None:
    place = ground.directory("attacks")
    seconds = str(1000 + os.getpid())
    job = _killed(ground, place, "env", "-i", "sleep", seconds)

    def found() -> set[int]:
        return {pid for pid in processes.all_pids() if processes.command_line(pid) == ["sleep", seconds]}

    assert found()
    wait.until(lambda: ground.outlive("status", job)["state"] == "failed", what="the end of the job")
    wait.until(lambda: not found(), what="the end of the command")


def test_a_command_that_shuts_its_output_is_adopted_all_the_same(ground: Ground) -> None:
    place = ground.directory("attacks")
    shuts = "import os, time; os.fchmod(1, 0); os.fchmod(2, 0); print(1, flush=True); time.sleep(600)"
    answer = ground.outlive(*INSIDE, "--until", "output", "--", ground.python, "-c", shuts, cwd=place)
    job = str(answer["job_id"])
    pair.end_pair(job)
    assert ground.outlive("status", job)["state"] == "running"
    assert ground.outlive("kill", job)["state"] == "killed"
