"""A sandbox that is made while the search for repositories runs. Its supervisor is a script."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from outlive.parts.sandbox.confinement import bubblewrap
from support import wait

# Starts argv[2] in a sandbox whose workspace is argv[1], as a supervisor does, and prints how many sandboxes it made
SUPERVISOR = """
import os, sys, time
from outlive.core.records import Sandbox
from outlive.parts.sandbox.confinement import inside, keeping, session
from outlive.supervisor import confinement
from outlive.system import prctl
from outlive.system.spawn import How

root, script, mode, bwrap = sys.argv[1:]
made, spawn = [], session._spawn
session._spawn = lambda *words, **how: made.append(1) or spawn(*words, **how)
if mode == "killed":
    keeping.Keeping.is_in = lambda self, mounts: os.kill(os.getpid(), 9)
prctl.become_subreaper()
status = os.stat(root)
sandbox = Sandbox(mode="workspace-write", network="none", bwrap=bwrap, home=os.path.dirname(root) + "/home", cache=os.path.dirname(root) + "/cache", roots=[root], root_ids=[[status.st_dev, status.st_ino]])
here, there = pair = inside.report_pair()
folder = os.open(os.path.dirname(root), os.O_RDONLY)
how = How(root)
try:
    session.start(sandbox, ["/bin/sh", "-c", script], {"PATH": os.environ["PATH"]}, {0: os.open("/dev/null", 0), 1: 2, 2: 2}, how=how, folder=folder, report=pair)
except confinement.Unavailable as error:
    print(error.strerror)
else:
    there.close()
    while inside.outcome(here) is None:
        time.sleep(0.01)
print("made", len(made))
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    root.mkdir()
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


def supervised(root: Path, script: str, mode: str = "", bwrap: Path | None = None) -> tuple[int, str, str]:
    """The exit code and the output of the supervisor, and the output of the command."""
    words = [sys.executable, "-c", SUPERVISOR, str(root), script, mode, str(bwrap or bubblewrap.find(None))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.usefixtures("system_path")  # a sandbox has a /tmp of its own, without what PATH may name there
def test_the_repository_at_the_top_is_kept_by_the_first_sandbox(workspace: Path) -> None:
    status, said, output = supervised(workspace, "touch ran; echo x >> .git/config")
    assert (status, said) == (0, "made 1\n"), output
    assert (workspace / "ran").exists()
    assert "Read-only file system" in output


@pytest.mark.parametrize("below", ["sub/.git", "bare"])
def test_a_repository_below_is_kept_by_a_second_sandbox(workspace: Path, below: str) -> None:
    subprocess.run(["git", "init", "-q", "--bare", workspace / below], check=True)
    status, said, output = supervised(workspace, f"echo ran >> ran; echo x >> {below}/config")
    assert (status, said) == (0, "made 2\n"), output
    assert (workspace / "ran").read_text() == "ran\n"
    assert "Read-only file system" in output
    status, said, output = supervised(workspace, f"echo x >> {below}/config")
    assert (status, said) == (0, "made 1\n"), "it waits for the search from now on"
    assert "Read-only file system" in output
    shutil.rmtree(workspace / below)
    for made in range(1, 3):
        assert supervised(workspace, f"echo {made} >> .git/config")[1] == "made 1\n"
    assert not (workspace.parent / "cache/.several").exists()


def test_what_cannot_be_kept_is_found_before_the_command_runs(workspace: Path) -> None:
    (workspace / "sub").mkdir()
    (workspace / "sub/.git").symlink_to(workspace / ".git")
    status, said, output = supervised(workspace, "touch ran")
    assert status == 0, output
    assert "sub/.git is a link, which a job could replace" in said
    assert "made 1" in said
    assert not (workspace / "ran").exists()


def test_what_a_killed_bwrap_leaves_is_ended_too(workspace: Path, tmp_path: Path) -> None:
    """Its child waits for it for ever, if it is killed before it has mapped the ids of the child."""
    (workspace / "below").mkdir()
    (workspace / "below/.git").symlink_to(workspace / ".git")
    bwrap = tmp_path / "bwrap"
    bwrap.write_text("#!/bin/sh\nsleep 300 &\nwait\n")
    bwrap.chmod(0o755)
    status, said, output = supervised(workspace, "touch ran", bwrap=bwrap)  # which would not end
    assert (status, "below/.git is a link" in said) == (0, True), output


def test_nothing_runs_when_the_supervisor_is_killed_before_the_search_is_over(workspace: Path) -> None:
    status, said, output = supervised(workspace, "touch ran", "killed")
    assert (status, said) == (-signal.SIGKILL, ""), output
    wait.until(lambda: not inside(workspace), what="the end of the sandbox")
    assert not (workspace / "ran").exists()


def inside(workspace: Path) -> list[str]:
    """Processes that have the workspace as their directory."""
    links = [f"/proc/{pid}/cwd" for pid in os.listdir("/proc") if pid.isdigit()]
    return [link for link in links if os.path.exists(link) and os.path.realpath(link) == str(workspace)]
