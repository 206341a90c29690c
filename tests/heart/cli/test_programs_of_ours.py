"""What outlive runs for itself is nothing that a job wrote, though PATH begins in the workspace (an active `.venv`)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support.cli import Cli, Jobs, configured
from support.mcp_client import RawMcp
from support.ui import Ui
from support.wait import until

HOSTS = """
[hosts.box]
kind = "ssh"
target = "me@127.0.0.1"
options = ["-oConnectTimeout=1", "-p1"]
[hosts.cluster]
kind = "slurm"
"""
NAMES = "ssh sbatch squeue scancel srun sinfo scontrol sacct systemd-run systemctl id xdg-open x-www-browser firefox sh bash"


@pytest.fixture
def planted(work: Path, place: Path) -> dict[str, str]:
    """The environment of a call after a job in a sandbox has written programs where it may."""
    folder = work / ".venv" / "bin"
    folder.mkdir(parents=True)
    (folder.parent / "pyvenv.cfg").touch()
    for name in NAMES.split():
        (folder / name).write_text(f"#!/bin/sh\necho {name} >> {place}/ran\nexit 1\n")
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "VIRTUAL_ENV": str(folder.parent), "DISPLAY": ":9"}


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--host", "box", "--wait", "true"),
        ("host", "check", "box"),
        ("run", "--host", "cluster", "true"),
        ("host", "check", "cluster"),
        ("run", "--systemd-scope", "true"),
        ("doctor",),
    ],
    ids=" ".join,
)
def test_a_call_runs_no_program_that_a_job_wrote(
    cli: Cli, place: Path, planted: dict[str, str], words: tuple[str, ...], jobs: Jobs
) -> None:
    configured(place, HOSTS)
    for cwd in (None, place):  # from elsewhere too
        cli.run(*words, env=planted, cwd=cwd)
    jobs.end()
    assert not (place / "ran").exists(), (place / "ran").read_text()


def test_the_error_says_what_was_passed_over_and_how_to_name_another(
    cli: Cli, place: Path, planted: dict[str, str], work: Path
) -> None:
    configured(place, HOSTS)
    passed = f"{work}/.venv/bin/sbatch"
    error = cli.error(
        "run", "--host", "cluster", "true", code="launch_failed", env={**planted, "PATH": f"{work}/.venv/bin"}
    )
    assert f"passed over: {passed}" in error["message"]


def test_the_configuration_names_the_program(cli: Cli, place: Path, planted: dict[str, str], work: Path) -> None:
    mine = place / "mine"
    mine.write_text(f"#!/bin/sh\ntouch {place}/mine.ran\nexit 1\n")
    mine.chmod(0o755)
    configured(place, f'[programs]\nsystemd-run = "{mine}"\n')
    cli.error("run", "--systemd-scope", "true", code="launch_failed", env=planted)
    assert (place / "mine.ran").exists()
    configured(place, f'[programs]\nsystemd-run = "{work}/.venv/bin/systemd-run"\n')
    error = cli.error("run", "--systemd-scope", "true", code="launch_failed", env=planted)
    assert "passed over" in error["message"]
    configured(place, '[programs]\nssh = "ssh"\n')
    assert "absolute path" in cli.error("list", code="config_error")["message"]
    assert not (place / "ran").exists()


def test_the_shell_of_a_job_and_of_its_notification_is_none_that_a_job_wrote(
    cli: Cli, place: Path, planted: dict[str, str]
) -> None:
    configured(place, '[shell]\nunix = ["sh", "-c"]\n')  # a login shell runs a profile, along the PATH of the job
    found = cli.ok("run", "--wait", "--notify-command", f": > {place}/told", "echo $0 $PATH", env=planted)
    assert found["output"] == f"sh {planted['PATH']}\n", "the job has its PATH"
    until((place / "told").exists, what="the notification")
    assert not (place / "ran").exists()


def test_the_login_shell_of_a_server_runs_no_program_that_a_job_wrote(
    raw_mcp: Callable[..., RawMcp], place: Path, planted: dict[str, str]
) -> None:
    (place / "home" / ".bash_profile").write_text("id > ~/id\nsh -c :\nPATH=$PATH:/added\n")
    server = raw_mcp(env={**planted, "SHELL": "/bin/bash"})
    server.request("tools/call", {"name": "exec", "arguments": {"command": "echo $PATH > path"}})
    assert (place / "home" / "id").read_text().startswith("uid=")
    until(
        lambda: (place / "work" / "path").exists() and (place / "work" / "path").read_text(), what="the PATH of the job"
    )
    listed = (place / "work" / "path").read_text().strip().split(":")
    own = [*dict.fromkeys(one for one in planted["PATH"].split(":") if one)]
    assert [one for one in listed if one in own] == own, "the job has its PATH, in its order"
    assert not (place / "ran").exists()


@pytest.mark.parametrize("folder", [".venv/bin", "bin"])
def test_a_server_asks_no_login_shell_that_a_job_wrote(
    raw_mcp: Callable[..., RawMcp], place: Path, planted: dict[str, str], folder: str
) -> None:
    shell = place / "work" / folder / "zsh"
    shell.parent.mkdir(exist_ok=True)
    shell.write_text(f"#!/bin/sh\necho shell >> {place}/ran\n")
    shell.chmod(0o755)
    server = raw_mcp(env={**planted, "SHELL": str(shell)})
    server.request("tools/call", {"name": "exec", "arguments": {"command": "true"}})
    assert not (place / "ran").exists()


def test_the_profile_of_the_login_shell_imports_no_module_that_a_job_wrote(
    raw_mcp: Callable[..., RawMcp], place: Path
) -> None:
    (place / "work" / "json.py").write_text(f"open({str(place / 'ran')!r}, 'w')")
    (place / "home" / ".bash_profile").write_text("python3 -c 'import json'; pwd > ~/where\n")
    server = raw_mcp(env={"SHELL": "/bin/bash"})
    server.request("tools/call", {"name": "exec", "arguments": {"command": "true"}})
    until((place / "home" / "where").exists, what="the end of the profile")
    assert not (place / "ran").exists()


def test_the_page_is_opened_by_no_browser_that_a_job_wrote(cli: Cli, place: Path, planted: dict[str, str]) -> None:
    with Ui(place / "ui.log"):
        for more in ({}, {"BROWSER": "./.venv/bin/firefox"}, {"BROWSER": "firefox"}):
            assert cli.text("ui", env={**planted, **more}).status == 0
    assert not (place / "ran").exists()


@pytest.mark.parametrize(
    ("words", "program"),
    [
        (("run", "--host", "cluster", "true"), "sbatch"),
        (("host", "check", "cluster"), "sinfo"),
        (("run", "--systemd-scope", "true"), "systemd-run"),
        (("run", "--wait", "--sandbox", "workspace-write", "true"), "git"),
        (("doctor",), "systemctl"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_script_of_the_user_in_the_place_of_a_program_imports_no_module_that_a_job_wrote(
    cli: Cli, place: Path, work: Path, words: tuple[str, ...], program: str, jobs: Jobs
) -> None:
    """Python imports from the directory in which it is started."""
    configured(place, HOSTS)
    (work / "json.py").write_text(f"open({str(place / 'ran')!r}, 'w')")
    script = place / "site" / program
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\npwd >> {place}/where\npython3 -c 'import json'\nexit 1\n")
    script.chmod(0o755)
    env = {"PATH": f"{script.parent}:{os.environ['PATH']}", "DISPLAY": ":9"}
    cli.text(*words, env=env)
    jobs.end()
    if (place / "where").exists():  # not where systemd or bubblewrap is missing
        assert {*(place / "where").read_text().split()} == {"/"}
    assert not (place / "ran").exists()
