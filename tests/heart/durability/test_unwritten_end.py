"""A disk that takes no writes any more when a job ends: its supervisor knows the end, and says it."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlive.core.records import State
from outlive.mcp.caller import Caller
from outlive.mcp.tools.call import Calls
from outlive.store import atomic_file
from outlive.store.job_dir import JobDir
from support import pair
from support.calls import ask, calls_of
from support.cli import Cli
from support.commands import GATE
from support.mounts import Mounts

CALLER = Caller("tests", "tests", "tests")


def _make_read_only(path: Path) -> None:
    """As ext4 does it after an error of the disk: open files can be written to no more."""
    done = subprocess.run(["mount", "-o", "remount,abort", str(path)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"this kernel cannot do it: {done.stderr.decode().strip()}")


@pytest.mark.fault("D07", "F18")
def test_an_end_on_a_disk_that_became_read_only_is_told_by_every_verb_until_it_is_let_go(
    cli: Cli, mount: Mounts, work: Path
) -> None:
    root = mount.ext4("disk", 16)
    words = ("--root", str(root))
    job = cli.ok(*words, "run", "--snapshot-after", "0", f"echo early; {GATE}; exit 7")["job_id"]
    cli.ok(*words, "wait", job, "--until", "output")
    _make_read_only(root)
    (work / "go").touch()
    for verb in ("wait", "status", "poll", "log", "tail"):
        found = cli.ok(*words, verb, job)
        assert (found["state"], found["exit_code"]) == ("exited", 7)
        assert "not on disk (Read-only file system)" in found["damage"]
    (listed,) = cli.ok(*words, "list", "--all")["jobs"]
    assert (listed["state"], listed["exit_code"]) == ("exited", 7)
    found = cli.ok(*words, "kill", job)
    assert (found["state"], found["exit_code"]) == ("exited", 7)
    assert "only record" in found["hint"]
    pair.until_free(root, job)
    assert "takes nothing (Read-only file system)" in cli.ok(*words, "status", job)["message"]


@pytest.mark.fault("D07", "F18")
def test_a_supervisor_that_is_killed_on_a_read_only_disk_has_a_successor_that_tells_the_end(
    cli: Cli, mount: Mounts, work: Path
) -> None:
    root = mount.ext4("disk", 16)
    words = ("--root", str(root))
    job = cli.ok(*words, "run", "--snapshot-after", "0", f"echo early; {GATE}; echo late; exit 7")["job_id"]
    cli.ok(*words, "wait", job, "--until", "output")
    _make_read_only(root)
    pair.take_over(job)
    assert cli.ok(*words, "status", job)["state"] == "running"
    (work / "go").touch()
    found = cli.ok(*words, "wait", job)
    assert (found["state"], found["exit_code"], found["dropped_bytes"]) == ("exited", 7, 5)
    assert "not on disk (Read-only file system)" in found["damage"]
    assert cli.ok(*words, "log", job)["output"] == "early\n"
    cli.ok(*words, "kill", job)
    pair.until_free(root, job)


@pytest.fixture
def calls(root: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Calls]:
    """A server whose supervisors, forks of this process, get EIO for an outcome while the file `broken` is there."""
    real, broken = JobDir.write_state, place / "broken"

    def write_state(job: JobDir, state: State, *, promised: bool = False) -> State:
        if state.finished and broken.exists():
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(job, state, promised=promised)

    monkeypatch.setattr(JobDir, "write_state", write_state)
    with contextlib.closing(calls_of(root)) as made:
        yield made


@pytest.mark.fault("D07", "F18")
def test_an_end_that_a_disk_refuses_is_told_and_written_when_the_disk_takes_it(
    calls: Calls, cli: Cli, root: Path, place: Path
) -> None:
    (place / "broken").touch()
    found = ask(calls, CALLER, "exec", command="echo out; exit 7")
    assert (found["state"], found["exit_code"], found["output"]) == ("exited", 7, "out\n")
    job = found["job_id"]
    assert "not on disk (Input/output error)" in cli.ok("status", job)["damage"]
    state = root / job / "state.json"
    assert atomic_file.load(state.read_bytes())["state"] == "running"
    pair.take_over(job)
    found = cli.ok("wait", job)
    assert (found["exit_code"], "damage" in found) == (7, True)
    (place / "broken").unlink()
    pair.until_free(root, job)
    assert atomic_file.load(state.read_bytes())["exit_code"] == 7
    assert "damage" not in cli.ok("status", job)
