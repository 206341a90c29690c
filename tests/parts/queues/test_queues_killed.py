"""Queues under SIGKILL: a slot is taken as long as its command runs and no longer, a place in line is kept, each job runs once."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

from outlive.parts.queues.table import Table
from outlive.system import fault_points, locks
from support import pair
from support.cli import Cli, Jobs, configured
from support.commands import GATE
from support.jobs import job_ids
from support.tiers import first
from support.wait import until

OUTLIVE = f"{sys.executable} -m outlive"


@pytest.fixture(autouse=True)
def _queues(place: Path) -> None:
    configured(place, "[queue.heavy]\nslots = 1\n[queue.wide]\nslots = 2\n")


def start(cli: Cli, command: str, *words: str, queue: str = "heavy", **how: Any) -> str:
    job: str = cli.ok("run", "--snapshot-after", "0", "--queue", queue, *words, command, **how)["job_id"]
    return job


def is_taken(place: Path, queue: str = "heavy") -> bool:
    """Whether a process of ours holds a slot."""
    table = Table.read(str(place / "home/.local/state/outlive/queues" / queue))
    try:
        return locks.is_held(table.fd, 0, 1_024)
    finally:
        table.close()


def positions(cli: Cli, *jobs: str) -> list[int]:
    return [cli.ok("status", job).get("queued", {}).get("position", 0) for job in jobs]


def runs(work: Path) -> list[str]:
    return (work / "ran").read_text().split() if (work / "ran").exists() else []


def killed(job: str, who: str) -> None:
    one = pair.supervisor(job)
    pair.end(*{"supervisor": [one], "guardian": [pair.guardian(job)], "both": [pair.guardian(job), one]}[who])


@pytest.mark.parametrize("who", ["supervisor", "guardian", "both"])
def test_a_slot_is_taken_while_its_command_runs_whatever_of_ours_is_killed(
    who: str, cli: Cli, work: Path, place: Path, root: Path
) -> None:
    job = start(cli, f"echo first >> ran; {GATE}")
    until(lambda: runs(work), what="the command")
    killed(job, who)
    late = start(cli, "echo late >> ran")
    assert (runs(work), positions(cli, late)) == (["first"], [1])
    assert cli.ok("status", job)["state"] == "running", "this look starts a new supervisor, if there is none"
    pair.supervisor(job)
    until(lambda: is_taken(place), what="the lock of the process that goes on")
    if who == "both":  # an adopter too has a guardian, and whichever of them is left holds the slot
        pair.end(pair.supervisor(job))
        pair.supervisor(job)
        assert is_taken(place)
    assert runs(work) == ["first"]
    (work / "go").touch()
    assert cli.ok("wait", late)["exit_code"] == 0
    for one in (job, late):
        pair.until_free(root, one)
    assert (runs(work), is_taken(place)) == (["first", "late"], False)


@pytest.mark.parametrize("who", ["supervisor", "guardian", "both"])
def test_a_job_in_line_keeps_its_place_whatever_of_ours_is_killed(who: str, cli: Cli, work: Path) -> None:
    start(cli, GATE)
    jobs = [start(cli, f"echo {number} >> ran") for number in range(3)]
    killed(jobs[1], who)
    cli.ok("status", jobs[1])  # which gives it to others, if both are dead
    until(lambda: positions(cli, *jobs) == [1, 2, 3], what="the same places")
    assert cli.ok("kill", jobs[0])["reason"] == "kill"
    until(lambda: positions(cli, *jobs[1:]) == [1, 2], what="a place further on")
    (work / "go").touch()
    for job in jobs[1:]:
        assert cli.ok("wait", job)["exit_code"] == 0
    assert runs(work) == ["1", "2"]


@pytest.mark.parametrize(
    "point",
    ["queue_joined", "queue_taken", "wait_begun", "wait_over", "start_ends", "start_unmarked", "start_marked", "start_spawned", "start_unrecorded",
     "start_recorded", "guardian:wait_begun,wait_begun", "guardian:queue_taken,queue_taken"],
)  # fmt: skip
def test_a_start_that_is_killed_takes_one_slot_and_runs_once(
    point: str, cli: Cli, work: Path, place: Path, root: Path
) -> None:
    gate = start(cli, GATE)
    report = work / "crashes"
    env = {fault_points.VARIABLE: point, fault_points.REPORT: str(report)}
    job = start(cli, f"echo it >> ran; {GATE.replace('go', 'then')}", env=env)
    assert positions(cli, job) == [1]
    (work / "go").touch()
    cli.ok("wait", gate)
    until(lambda: cli.ok("status", job) and runs(work), what="the command")
    assert {*report.read_text().split()} == {*point.split(",")}, "it died there"
    assert is_taken(place)
    late = start(cli, "echo late >> ran")
    assert positions(cli, late) == [1]
    (work / "then").touch()
    assert cli.ok("wait", late)["exit_code"] == 0
    for one in (job, late):
        pair.until_free(root, one)
    assert (runs(work), is_taken(place)) == (["it", "late"], False)


def test_what_a_command_left_behind_keeps_its_slot(cli: Cli, work: Path, place: Path) -> None:
    leaves = f"import subprocess; subprocess.Popen(['sh', '-c', '{GATE}'], start_new_session=True)"
    ended = cli.ok("run", "--wait", "--queue", "heavy", "--", sys.executable, "-c", leaves)
    assert ended["descendants"]
    late = start(cli, "echo late >> ran")
    assert positions(cli, late) == [1]
    pair.end_both(pair.supervisor(ended["job_id"]))
    assert positions(cli, late) == [1], "no process of ours holds the slot"
    (work / "go").touch()
    assert cli.ok("wait", late)["exit_code"] == 0
    until(lambda: not is_taken(place), what="the end of the slot")


def test_a_start_that_fails_leaves_the_slot_free(cli: Cli, place: Path, root: Path) -> None:
    for _ in range(3):
        missing = cli.ok("run", "--queue", "heavy", "--", "no-such-program", "x")
        assert missing["state"] == "failed"
        pair.until_free(root, missing["job_id"])
        assert not is_taken(place)


def test_a_job_that_is_started_inside_of_one_of_its_queue_runs_in_its_slot(cli: Cli, work: Path) -> None:
    inner = f"{OUTLIVE} run --queue heavy --wait"
    # Through a job that is in no queue, too
    deep = f"{OUTLIVE} run --queue none --wait '{inner} \"echo deep >> ran\"'"
    suite = cli.ok("run", "--wait", "--queue", "heavy", f"{inner} 'echo one >> ran' && {deep} && echo suite >> ran")
    assert (suite["exit_code"], runs(work)) == (0, ["one", "deep", "suite"])


def test_a_job_that_outlives_the_one_that_started_it_keeps_the_slot(cli: Cli, work: Path, place: Path) -> None:
    inner = f"{OUTLIVE} run --queue heavy --snapshot-after 0 --title inner 'echo inner >> ran; {GATE}'"
    outer = cli.ok("run", "--wait", "--queue", "heavy", inner)
    assert outer["exit_code"] == 0
    until(lambda: runs(work), what="the inner job")
    late = start(cli, "echo late >> ran")
    assert positions(cli, late) == [1]
    (job,) = (one["job_id"] for one in cli.ok("list", "--queue", "heavy")["jobs"] if one["name"] == "inner")
    pair.end_both(pair.supervisor(job))
    assert (positions(cli, late), runs(work)) == ([1], ["inner"]), "its processes say whose slot it is in"
    (work / "go").touch()
    assert cli.ok("wait", late)["exit_code"] == 0
    # A job that is left of one whose slot was given away waits as any other
    env = {"OUTLIVE_SLOTS": f"heavy=0:{outer['job_id']}:{outer['job_id']}"}
    blocker = start(cli, GATE.replace("go", "then"))
    stale = start(cli, "true", env=env)
    assert positions(cli, stale) == [1]
    (work / "then").touch()
    for one in (blocker, stale):
        cli.ok("wait", one)


def test_all_job_roots_share_the_slots(cli: Cli, work: Path, place: Path) -> None:
    start(cli, GATE)
    other = str(place / "other")
    late = cli.ok("--root", other, "run", "--snapshot-after", "0", "--queue", "heavy", "true")
    assert (late["state"], late["queued"]["position"]) == ("created", 1)
    said = "Queue heavy: 1 of 1 slots taken, 1 job in line, 1 of them not of this job root or of this caller."
    assert cli.ok("list", "--queue", "heavy")["hint"] == said
    (work / "go").touch()
    assert cli.ok("--root", other, "wait", late["job_id"])["exit_code"] == 0


@pytest.mark.parametrize("rounds", first(1, [6, 60]))
def test_whatever_is_killed_each_job_runs_once_and_no_more_than_there_are_slots(
    rounds: int, cli: Cli, jobs: Jobs, work: Path, place: Path, root: Path
) -> None:
    """Each command holds a lock of flock(1) on one of two files: a third that ran at a time would find none."""
    dice = random.Random(11)
    command = "echo $N >> ran; (flock -n 8 || flock -n 9 || echo $N >> crowded; sleep 0.1) 8> lock8 9> lock9"
    made: list[str] = []
    for round_ in range(rounds):
        made += [start(cli, command, "--env", f"N={round_}-{number}", queue="wide") for number in range(4)]
        for job in dice.sample(made[-4:], 2):
            supervisor = pair.supervisor_now(job)
            if supervisor:
                (pair.end_both if dice.random() < 0.5 else pair.end)(supervisor)
    for number, job in enumerate(made):
        ended = cli.ok("wait", job)
        pair.until_free(root, job)
        ran = runs(work)
        name = f"{number // 4}-{number % 4}"
        # Where both were killed right before the start, nothing is started again; right before the end, that is not known
        most = {"exited exit": {1}, "failed launch": {0}, "failed lost": {0, 1}}
        assert ran.count(name) in most.get(f"{ended['state']} {ended['reason']}", ()), (name, ended["reason"])
    assert not (work / "crowded").exists()
    assert not is_taken(place, "wide")
    assert len(job_ids(root)) == len(made)
    jobs.end()
