"""Limits of what starts a job: each is named with its value and with what is needed, and nothing is half started."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

import outlive
from support import pair, processes
from support.cli import Cli, Jobs, answer_of
from support.jobs import job_ids
from support.mounts import Mounts

SOURCE = Path(outlive.__file__).parent
ENOUGH = "import sys; sys.exit(sys.version_info < (3, 11))"


def limited(cli: Cli, kind: int, most: int, *words: str) -> dict[str, Any]:
    """The answer of a call below a limit of what started it."""
    env = {"PYTHONDONTWRITEBYTECODE": "1"}  # Python 3.11 may leave half of a .pyc beyond the limit
    with cli.spawn(*words, env=env, preexec_fn=lambda: resource.setrlimit(kind, (most, most))) as call:
        return answer_of(call)


@pytest.mark.fault("F58")
def test_output_beyond_the_limit_of_a_file_is_counted_and_the_limit_is_named(cli: Cli, work: Path) -> None:
    found = limited(
        cli, resource.RLIMIT_FSIZE, 65_536, "run", "--wait", "head -c 200000 /dev/zero; echo end >&2; exit 3"
    )
    assert found["ok"], found
    assert (found["exit_code"], found["dropped_bytes"]) == (3, 134_464)
    assert "no file of its supervisor may be larger than 65,536 bytes (`ulimit -f`" in found["hint"]
    pair.until_free(cli.root, found["job_id"])
    assert "65,536 bytes (`ulimit -f`" in cli.ok("status", found["job_id"])["hint"]
    assert cli.ok("tail", found["job_id"])["stderr_tail"] == "end\n"


@pytest.mark.fault("F58")
def test_a_job_that_the_limit_of_a_file_forbids_is_an_error_that_names_it(cli: Cli, root: Path, work: Path) -> None:
    error = limited(cli, resource.RLIMIT_FSIZE, 512, "run", "touch ran")["error"]
    assert (error["details"]["errno"], "512 bytes (`ulimit -f`)" in error["hint"]) == ("EFBIG", True)
    assert job_ids(root) == set() and not (work / "ran").exists()


def test_a_supervisor_has_each_file_open_once(cli: Cli, jobs: Jobs) -> None:
    """A thousand of them share a user's limits, and one may take many jobs in turn."""
    job = cli.ok("run", "--snapshot-after", "0", "sleep 60")["job_id"]
    files = processes.open_files(pair.supervisor(job))
    named = [target for fd, target in files.items() if int(fd) > 2 and target.startswith("/")]
    assert len(named) == len(set(named)) and "/dev/null" not in named, files
    jobs.end()


@pytest.mark.fault("F58")
def test_too_few_open_files_are_named_with_what_is_needed(cli: Cli, work: Path) -> None:
    error = limited(cli, resource.RLIMIT_NOFILE, 20, "run", "touch ran")["error"]
    assert (error["details"]["errno"], error["retryable"]) == ("EMFILE", True)
    assert "may open 20 files (`ulimit -n`), and outlive needs 64: raise it" in error["hint"]
    assert not (work / "ran").exists()


@pytest.mark.fault("F58")
def test_a_home_that_takes_no_root_says_how_to_name_another(cli: Cli) -> None:
    env = {"OUTLIVE_ROOT": None, "XDG_DATA_HOME": None, "HOME": "/sys/kernel"}
    error = cli.error("run", "true", env=env, code="io_error")
    assert "/sys/kernel/.local/share/outlive/jobs" in error["message"]
    assert "--root or OUTLIVE_ROOT" in error["hint"]


@pytest.mark.fault("F18")
def test_a_full_table_of_inodes_is_said_and_nothing_is_left(cli: Cli, mount: Mounts, work: Path) -> None:
    small = mount("inodes", "nr_inodes=8,mode=700")
    error = cli.error("--root", small, "run", "touch ran", code="io_error")
    assert error["details"]["errno"] == "ENOSPC" and "inodes (`df -h`, `df -i`" in error["hint"]
    assert not (work / "ran").exists() and job_ids(small) == set()


@pytest.mark.fault("F58")
def test_processes_that_a_user_may_not_start_are_named_with_the_limit(tmp_path: Path) -> None:
    """Root is bound by no such limit: as another user, whose interpreter is the system's."""
    python = "/usr/bin/python3"
    if os.geteuid() != 0 or subprocess.run([python, "-c", ENOUGH], check=False, capture_output=True).returncode:
        pytest.skip("needs root, and a system's python3 of 3.11 or later")
    with tempfile.TemporaryDirectory(dir="/tmp") as home:
        os.chmod(home, 0o700)
        os.chown(home, 65_534, 65_534)
        code = os.path.join(home, "code")
        shutil.copytree(SOURCE, f"{code}/outlive", ignore=shutil.ignore_patterns("__pycache__"))
        done = subprocess.run(
            [python, "-m", "outlive", "run", "true"],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (1, 1)),
            user=65_534, group=65_534, extra_groups=[], cwd=home, stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
            env={"PATH": "/usr/bin:/bin", "HOME": home, "PYTHONPATH": code}, check=False,
        )  # fmt: skip
    error = answer_of(done)["error"]
    assert (error["code"], error["details"]["errno"], error["retryable"]) == ("launch_failed", "EAGAIN", True)
    assert "(`ulimit -u`: 1; a container may allow fewer)" in error["hint"]
