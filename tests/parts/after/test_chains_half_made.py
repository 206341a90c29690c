"""A caller that is killed while it makes a chain: nothing of the chain runs before all of it is there, and no job waits for one
that never comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import pair, processes
from support.cli import Cli, environment
from support.jobs import job_ids
from support.tiers import only
from support.wait import until

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
    if reached == point:
        left[0] -= 1
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


@pytest.mark.parametrize("who", ["nobody", "supervisor", "both"])
def test_a_job_waits_until_all_of_its_chain_is_there_whatever_of_ours_is_killed_meanwhile(
    who: str, cli: Cli, work: Path
) -> None:
    (work / "jobs.toml").write_text(TABLES, encoding="utf-8")
    words = [sys.executable, "-c", KILLED.replace("SIGKILL", "SIGSTOP"), "send_request", "4"]
    with subprocess.Popen(words, env=environment(), cwd=work, stdout=subprocess.PIPE) as caller:
        try:
            until(lambda: pair.is_stopped(caller.pid), what="the caller before it starts the last one")
            found = {one["name"]: one["job_id"] for one in cli.ok("list")["jobs"]}
            first = until(lambda: (one := cli.ok("status", found["first"])).get("waiting_for") and one, what="its wait")
            assert first["hint"].startswith(
                f"It has not started: it waits for job {found['other'][-8:]} to be started."
            )
            supervisor = pair.supervisor(found["first"])
            if who == "supervisor":
                pair.end(supervisor)
            elif who == "both":
                pair.end_both(supervisor)
                assert cli.ok("status", found["first"])["state"] == "created", "this look gives it to others"
            assert not (work / "ran").exists()
            caller.send_signal(signal.SIGCONT)
            assert caller.wait(60) == 0
        finally:
            caller.kill()  # it may have stopped
    for job in found.values():
        assert cli.ok("wait", job, "--timeout-ms", "50s")["exit_code"] == 0
    ran = (work / "ran").read_text(encoding="utf-8").split()
    assert sorted(ran) == sorted(ORDER)
    until(lambda: not processes.is_alive(supervisor), what="its end")


def test_a_job_of_a_chain_is_restarted_without_the_others(cli: Cli, work: Path) -> None:
    (work / "jobs.toml").write_text(TABLES, encoding="utf-8")
    jobs = {one["name"]: one["job_id"] for one in cli.ok("run", "--file", "jobs.toml", "--group", "mine")["jobs"]}
    cli.ok("wait", "--group", "mine", "--mode", "all", "--timeout-ms", "50s")
    cli.ok("remove", *(job for name, job in jobs.items() if name != "first"))
    assert cli.ok("restart", "--wait", jobs["first"])["exit_code"] == 0
