"""Supervisor and guardian killed where no file says what ran in a sandbox: right after the start of its command, and while a
notification command runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
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


def _killed(ground: Ground, place: Path, *words: str, points: Sequence[str] = _DEATHS) -> str:
    """Start a command, have processes be killed at these points, and return its job."""
    ground.shell("git init -q .", place)
    before = {*os.listdir(ground.root)}
    deaths = place / "deaths"
    crash = {"OUTLIVE_CRASH_AT": ",".join(points), "OUTLIVE_DEBUG_FILE": str(deaths)}
    ground.call(*INSIDE, "--snapshot-after", "0", *words, cwd=place, **crash)
    wait.until(lambda: deaths.exists() and sorted(deaths.read_text().split()) == sorted(points), what="the deaths")
    (job,) = (name for name in os.listdir(ground.root) if not name.startswith(".") and name not in before)
    return job


def test_what_a_command_made_is_told_though_no_file_says_that_it_ran(ground: Ground) -> None:
    place = ground.directory("attacks")
    job = _killed(ground, place, "--", "sh", "-c", "mkdir .zed")
    wait.until((place / ".zed").exists, what="what the command makes")
    pair.until_free(ground.root, job)
    found = wait.until(lambda: (one := ground.outlive("status", job))["state"] != "running" and one, what="the end")
    assert (found["state"], found["reason"]) == ("failed", "lost")
    assert f"{place}/.zed" in found["message"]


def test_a_command_without_its_cookie_does_not_go_on_unseen(ground: Ground) -> None:
    place = ground.directory("attacks")
    seconds = str(1000 + os.getpid())
    job = _killed(ground, place, "--", "env", "-i", "sleep", seconds)

    def found() -> set[int]:
        return {pid for pid in processes.all_pids() if processes.command_line(pid) == ["sleep", seconds]}

    assert found()
    wait.until(lambda: ground.outlive("status", job)["state"] == "failed", what="the end of the job")
    wait.until(lambda: not found(), what="the end of the command")


@pytest.mark.parametrize("runs", [True, False])
def test_what_a_notification_command_made_is_told_by_a_reader(ground: Ground, runs: bool) -> None:
    place = ground.directory("attacks")
    failed = str(ground.outlive("run", "--wait", "--", "false", cwd=place)["job_id"])
    after = () if runs else ("--after", failed)
    notify = ("--notify-command", "mkdir .zed")
    job = _killed(ground, place, *after, *notify, "--", "true", points=["end_done", "guardian:takeover_locked"])
    pair.until_free(ground.root, job)
    message = wait.until(lambda: ground.outlive("status", job).get("message"), what="the report")
    assert f"{place}/.zed" in str(message)


def test_a_command_that_shuts_its_output_is_adopted_all_the_same(ground: Ground) -> None:
    place = ground.directory("attacks")
    shuts = "import os, time; os.fchmod(1, 0); os.fchmod(2, 0); print(1, flush=True); time.sleep(600)"
    answer = ground.outlive(*INSIDE, "--until", "output", "--", ground.python, "-c", shuts, cwd=place)
    job = str(answer["job_id"])
    pair.end_pair(job)
    assert ground.outlive("status", job)["state"] == "running"
    assert ground.outlive("kill", job)["state"] == "killed"
