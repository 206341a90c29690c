"""A caller that is killed while it makes a chain: nothing of the chain runs before all that waits is there, and no job waits for
one that never comes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import pair
from support.cli import Cli, environment
from support.jobs import job_ids
from support.tiers import only

TABLES = """
[[jobs]]
name = "last"
command = "echo last >> ran"
after = ["first", "other"]
[[jobs]]
name = "first"
command = "echo first >> ran"
[[jobs]]
name = "next"
command = "echo next >> ran"
after = ["first"]
[[jobs]]
name = "other"
command = "echo other >> ran"
"""
# Killed when it reaches a step for this job of the chain: POINT NUMBER
KILLED = """
import os, signal, sys
from outlive.system import fault_points
point, left = sys.argv[1], [int(sys.argv[2])]
def at(reached):
    left[0] -= reached == point
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
fault_points.at = at
sys.argv = ["outlive", "run", "--file", "jobs.toml"]
from outlive.__main__ import main
sys.exit(main())
"""
MAKING = ["make_directory", "make_files", "make_meta", "make_live", "make_visible"]
SENDING = ["send_request", "send_guardian", "send_done", "send_answered"]
# They are started in this order
ORDER = ["last", "next", "first", "other"]
STEPS = [(point, number) for point in MAKING + SENDING for number in (1, 2, 3, 4)]
BY_DEFAULT = {("make_live", 2), ("make_visible", 4), ("send_request", 1), ("send_guardian", 3), ("send_request", 4)}


@pytest.mark.parametrize(("point", "number"), only(lambda step: step in BY_DEFAULT, STEPS))
def test_a_caller_that_is_killed_leaves_no_half_that_runs_or_waits(
    point: str, number: int, cli: Cli, work: Path, root: Path
) -> None:
    (work / "jobs.toml").write_text(TABLES, encoding="utf-8")
    words = [sys.executable, "-c", KILLED, point, str(number)]
    assert subprocess.run(words, env=environment(), cwd=work, timeout=60, check=False).returncode == -9
    # Those that a supervisor has
    handed_over = [] if point in MAKING else ORDER[: number - (point in ("send_request", "send_guardian"))]
    found = {cli.ok("status", job)["name"]: job for job in sorted(job_ids(root))}
    ended: dict[str, dict[str, Any]] = {}
    for name, job in found.items():
        assert not cli.ok("wait", job, "--timeout-ms", "50s")["timed_out"], f"{name} waits for what never comes"
        pair.until_free(root, job)
        ended[name] = cli.ok("status", job)
    ran = (work / "ran").read_text(encoding="utf-8").split() if (work / "ran").exists() else []
    assert {*ran} == {name for name, one in ended.items() if one["state"] == "exited"}
    assert len(ran) == len({*ran})
    if handed_over == ORDER:
        assert {*ran} == {*ORDER}
        assert ran.index("first") < min(ran.index("next"), ran.index("last"))
    elif handed_over == ORDER[:3]:
        assert {*ran} == {"first", "next"}, "all but the one that never started, and what waits for it"
    else:
        assert ran == []
    for name, one in ended.items():
        if name not in ran:
            assert (one["state"], one["reason"]) == ("failed", "dependency" if name in handed_over else "launch")
            assert one["message"]
    assert {one["job_id"] for one in cli.ok("list", "--all")["jobs"]} == {*found.values()}
    for path in root.glob(".tmp-*"):
        os.utime(path, (0, 0))
    cli.ok("gc", "--older-than", "0s")
    assert [path.name for path in root.iterdir() if path.name.startswith((".tmp", ".gc")) or len(path.name) == 26] == []
