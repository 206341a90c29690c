"""A job that was started in a sandbox, where outlive no longer has the part that made it."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from outlive.system import tree
from support import processes, wait
from support.cli import Cli
from support.installed import Installed

SCRIPT = "echo one; mkdir -p made/.git; while [ ! -e go ]; do sleep 0.1; done; echo two; exit 143"
UNCHECKED = (
    "what it left in its workspace was not checked, which needs the part sandbox of outlive, which is not installed"
)


@pytest.fixture
def without(place: Path) -> Installed:
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / "sandbox")
    return installed


def left(cli: Cli, work: Path, *words: str) -> str:
    """Start a job in a sandbox, and kill what supervises it."""
    job: str = cli.ok("run", "--sandbox", *words, "--snapshot-after", "0", SCRIPT, cwd=work)["job_id"]
    cli.ok("wait", job, "--until", "regex=one")
    supervisor = json.loads((cli.root / job / "state.json").read_text())["supervisor"]["pid"]
    for pid in (processes.parent(supervisor), supervisor):
        os.kill(pid, signal.SIGKILL)
    return job


def test_a_job_is_adopted_and_seen_to_its_end(cli: Cli, work: Path, without: Installed) -> None:
    env: dict[str, str | None] = {**without.env}
    job = left(cli, work, "workspace-write", "--notify-command", "touch told", "--notify-file", "line")
    found = cli.ok("status", job, env=env)
    assert found["state"] == "running"
    assert "made with the part sandbox of outlive, which is not installed here" in found["hint"]
    (work / "go").touch()
    ended = cli.ok("wait", job, env=env)
    assert ended["exit_code"] == 143
    assert UNCHECKED in cli.ok("status", job, env=env)["message"]
    assert cli.ok("log", job)["output"] == "one\ntwo\n"
    record = cli.root / job / "completion_event.json"
    wait.until(lambda: record.exists() and not json.loads(record.read_text())["pending"])
    results = json.loads(record.read_text())["delivery_results"]
    assert [one["success"] for one in results] == [False, False]
    assert all("the part sandbox of outlive, which is not installed here" in one["error"] for one in results)
    assert not (work / "told").exists() and not (work / "line").exists(), "nothing is done outside of the sandbox"


@pytest.mark.parametrize("mode", ["workspace-write", "read-only"])
def test_a_reader_says_what_it_did_not_look_at(cli: Cli, work: Path, without: Installed, mode: str) -> None:
    env: dict[str, str | None] = {**without.env}
    (work / "made").mkdir()
    job = left(cli, work, mode)
    state = json.loads((cli.root / job / "state.json").read_text())
    os.kill(state["init"]["pid"], signal.SIGKILL)
    wait.until(lambda: not tree.with_cookie(job), what="the end of all that ran in the sandbox")
    ended = cli.ok("status", job, env=env)
    assert ended["state"] != "running"
    assert (UNCHECKED in str(ended.get("message"))) is (mode == "workspace-write")


def test_a_supervisor_without_it_starts_nothing(cli: Cli, work: Path, place: Path) -> None:
    installed = Installed(place)
    (installed.package / "parts" / "sandbox" / "in_supervisor.py").unlink()
    shutil.rmtree(installed.package / "parts" / "sandbox" / "__pycache__")
    env: dict[str, str | None] = {**installed.env}
    error = cli.error("run", "--sandbox", "workspace-write", "touch ran", cwd=work, env=env, code="sandbox_unavailable")
    assert "it needs the part sandbox of outlive, which is not installed here; nothing was run" in error["message"]
    assert not (work / "ran").exists()
    cli.ok("run", "--wait", "touch ran", cwd=work, env=env)
    assert (work / "ran").exists()
