"""The sandbox of jobs on a host of kind ssh: set for the host, made on the other machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from outlive.parts.sandbox.confinement import bubblewrap
from parts.hosts.test_ssh import box as box  # noqa: PLC0414 - a fixture
from support.cli import Cli
from support.fake_ssh import PYTHON, FakeSsh

# An interpreter that finds no bwrap, wherever it is
WITHOUT_BWRAP = f"""#!{PYTHON} -I
import os, sys
known = os.access
os.access = lambda path, *rest: not str(path).endswith("bwrap") and known(path, *rest)
exec(sys.argv[-1])
"""


@pytest.fixture
def bounded(box: FakeSsh, place: Path) -> FakeSsh:
    """The machine, with a sandbox as default and as ceiling of its jobs."""
    problem = bubblewrap.tried(bubblewrap.find(None))
    if problem is not None:
        pytest.skip(f"no sandbox can be set up here: {problem}")
    (box.home / "src").mkdir()
    configure(place, 'sandbox = "workspace-write"\nnetwork = "none"\nworkdir = "~/src"')
    return box


def configure(place: Path, more: str) -> None:
    path = place / "home/.config/outlive/config.toml"
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{more}\n", encoding="utf-8")


def run(cli: Cli, command: str, *words: str) -> dict[str, Any]:
    return cli.ok("run", "--host", "box", "--wait", *words, "--", command)


def test_the_sandbox_of_a_host_is_made_there_and_holds_there(cli: Cli, bounded: FakeSsh, place: Path) -> None:
    key = bounded.home / ".ssh/id"
    key.parent.mkdir()
    key.write_text("secret", encoding="utf-8")
    answer = run(cli, f"echo x > mine; touch {bounded.home}/there; cat {key}; exit 5")
    assert answer["sandbox"] == {"mode": "workspace-write", "network": "none", "git": "read"}
    assert answer["exit_code"] == 5 and "secret" not in answer["output"]
    assert (bounded.home / "src/mine").is_file() and not (bounded.home / "there").exists()
    outside = cli.ok("run", "--wait", "--", f"touch {place}/here")
    assert outside["exit_code"] == 0 and "sandbox" not in outside
    bounded.wait_empty()


def test_nothing_that_a_job_wrote_there_is_run_for_the_next_one(cli: Cli, bounded: FakeSsh, place: Path) -> None:
    """Git is asked for its settings, outside of the sandbox."""
    planted = place / "planted"
    write = f"mkdir bin; printf '#!/bin/sh\\ntouch {planted}\\n' >bin/git; chmod +x bin/git"
    assert run(cli, write)["exit_code"] == 0
    assert (bounded.home / "src/bin/git").stat().st_mode & 0o111
    python = bounded.place / "python"  # as after a `.bashrc` there that changes PATH
    script = f'#!/bin/sh\nexport PATH="{bounded.home}/src/bin:$PATH"\nexec {sys.executable} "$@"\n'
    python.write_text(script, encoding="utf-8")
    python.chmod(0o755)
    path = place / "home/.config/outlive/config.toml"
    path.write_text(path.read_text(encoding="utf-8").replace(sys.executable, str(python)), encoding="utf-8")
    assert run(cli, "exit 5")["exit_code"] == 5
    assert not planted.exists()
    bounded.wait_empty()


def test_what_outlive_keeps_there_is_not_shown_where_variables_name_it(cli: Cli, bounded: FakeSsh, place: Path) -> None:
    """The machine has them in its own environment."""
    kept, python = bounded.home / "src" / "kept", bounded.place / "python"
    names = " ".join(f"XDG_{name}_HOME={kept}" for name in ("CONFIG", "DATA", "STATE"))
    python.write_text(f'#!/bin/sh\nexport {names}\nexec {sys.executable} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    path = place / "home/.config/outlive/config.toml"
    path.write_text(path.read_text(encoding="utf-8").replace(sys.executable, str(python)), encoding="utf-8")
    answer = run(cli, "find kept; rm -rf kept/outlive/*; mkdir -p kept/outlive/far/forged 2>&-")
    assert "kept/outlive\n" in answer["output"] and "kept/outlive/" not in answer["output"]
    assert (kept / "outlive" / "workspaces").is_dir() and not (kept / "outlive" / "far" / "forged").exists()
    bounded.wait_empty()


def test_a_call_may_ask_for_less_than_a_host_has_and_never_for_more(cli: Cli, bounded: FakeSsh) -> None:
    assert run(cli, "touch mine", "--sandbox", "read-only")["exit_code"] == 1
    for words in (("--sandbox", "off"), ("--elevated",), ("--network", "open")):
        error = cli.error("run", "--host", "box", *words, "--", "true", code="denied")
        assert "[hosts.NAME]" in error["hint"]
    first = run(cli, "pwd")
    again = cli.ok("restart", first["job_id"], "--wait")
    assert again["sandbox"] == first["sandbox"] and again["output"] == first["output"]
    bounded.wait_empty()


def test_a_job_of_before_is_not_restarted_beyond_the_sandbox_of_its_host(cli: Cli, box: FakeSsh, place: Path) -> None:
    job = run(cli, "true")["job_id"]
    configure(place, 'sandbox = "read-only"')
    assert "without a sandbox" in cli.error("restart", job, code="denied")["message"]
    box.wait_empty()


def test_a_job_that_waited_has_the_mode_of_its_definition_and_the_directories_of_its_turn(
    cli: Cli, bounded: FakeSsh, place: Path, work: Path
) -> None:
    (bounded.home / "other").mkdir()
    first = cli.ok("run", "--snapshot-after", "0", "until [ -e go ]; do sleep 0.1; done")["job_id"]
    words = ("--snapshot-after", "0", "--after", first, "--sandbox", "workspace-write")
    command = f"cd {bounded.home}; touch extra/written; touch other/written; touch src/written"
    job = cli.ok("run", "--host", "box", "--cwd", "/usr", *words, "--", command)["job_id"]
    (bounded.home / "extra").mkdir()
    path = place / "home/.config/outlive/config.toml"
    text = path.read_text(encoding="utf-8").replace("workspace-write", "read-only").replace("~/src", "~/other")
    path.write_text(f'{text}\n[sandbox]\nwrite = ["{bounded.home}/extra"]\n', encoding="utf-8")
    (work / "go").touch()
    assert cli.ok("wait", job)["exit_code"] == 1
    assert cli.ok("status", job)["sandbox"]["mode"] == "workspace-write"
    assert [(bounded.home / name / "written").exists() for name in ("extra", "other", "src")] == [True, True, False]
    bounded.wait_empty()


def test_where_the_machine_has_no_bubblewrap_nothing_runs(cli: Cli, bounded: FakeSsh, place: Path) -> None:
    python = bounded.place / "python"
    python.write_text(WITHOUT_BWRAP, encoding="utf-8")
    python.chmod(0o755)
    path = place / "home/.config/outlive/config.toml"
    path.write_text(path.read_text(encoding="utf-8").replace(sys.executable, str(python)), encoding="utf-8")
    error = cli.error("run", "--host", "box", "--", "touch ran", code="sandbox_unavailable")
    assert "on host 'box'" in error["message"] and not (bounded.home / "src/ran").exists()
    found = next(one for one in cli.ok("host", "check", "box")["checks"] if one["name"] == "sandbox")
    assert found["status"] == "fail" and "bubblewrap" in found["advice"]


def test_checks_say_which_sandbox_a_host_gives(cli: Cli, bounded: FakeSsh) -> None:
    found = next(one for one in cli.ok("host", "check", "box")["checks"] if one["name"] == "sandbox")
    assert found["status"] == "ok"
    answer = cli.ok("policy", "check", "--host", "box", "--", "make")
    assert (answer["host"], answer["sandbox"]["mode"], answer["cwd"]) == ("box", "workspace-write", "~/src")
    assert "sandbox" not in cli.ok("policy", "check", "--", "make")
    assert cli.error("policy", "check", "--host", "box", "--sandbox", "off", "--", "make", code="denied")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('sandbox = "none"', "hosts.box.sandbox must be read-only or workspace-write or off"),
        ("network = true", "network"),
    ],
)
def test_a_sandbox_that_a_host_cannot_have_is_named(cli: Cli, box: FakeSsh, place: Path, line: str, said: str) -> None:
    configure(place, line)
    assert said in cli.error("list", code="config_error")["message"]
