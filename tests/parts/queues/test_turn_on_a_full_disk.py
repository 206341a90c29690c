"""A job whose turn comes when its disk is full: it runs, or says why not; its slot is free again, and nothing is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support import pair, processes
from support.cli import Cli, configured
from support.commands import GATE
from support.mounts import KINDS, Mounts, fill


@pytest.fixture(params=KINDS)
def small(request: pytest.FixtureRequest, mount: Mounts) -> Path:
    """A root on a file system of 4 MiB. The queues lie in the home, on another one."""
    kind: str = request.param
    return mount.small(kind, 4)


def test_it_fails_with_the_reason_and_frees_its_slot(
    cli: Cli, small: Path, work: Path, place: Path, root: Path
) -> None:
    configured(place, "[queue.heavy]\nslots = 1\n")
    gate = cli.ok("run", "--snapshot-after", "0", "--queue", "heavy", GATE)["job_id"]
    before = cli.ok("--root", str(small), "run", "--wait", "echo kept")["job_id"]
    words = ("run", "--snapshot-after", "0", "--queue", "heavy")
    late = cli.ok("--root", str(small), *words, "echo late >> ran")["job_id"]
    last = cli.ok(*words, "echo last >> ran")["job_id"]
    fill(small)
    (work / "go").touch()
    assert cli.ok("wait", last)["exit_code"] == 0, "it gets the slot"
    ended = cli.ok("--root", str(small), "wait", late)
    assert (ended["state"], ended["reason"]) == ("failed", "launch")
    found = cli.ok("--root", str(small), "status", late)
    assert (found["errno"], found["message"]) == ("ENOSPC", "No space left on device")
    assert (work / "ran").read_text(encoding="utf-8") == "last\n"
    for one in (gate, last):
        pair.until_free(root, one)
    assert processes.wait_gone(place, 60) == {}, "no process has to stay and hold the end in memory"
    assert cli.ok("--root", str(small), "log", before)["output"] == "kept\n"
    os.truncate(small / "filler", 0)
    assert cli.ok("--root", str(small), "status", late)["message"] == found["message"]
    again = cli.ok("--root", str(small), "restart", "--wait", late)
    assert again["exit_code"] == 0
