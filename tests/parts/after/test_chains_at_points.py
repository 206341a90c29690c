"""A chain of jobs that share one slot of a queue, while a process of each job dies at one step: each runs once and in its
order, or says why not, and no slot is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from outlive.parts.queues.table import Table
from outlive.system import fault_points, locks
from support import pair
from support.cli import Cli, configured
from support.commands import GATE
from support.tiers import only

NAMES = ["first", "second", "third"]
# The way of a job from its wait to the end of its slot
STEPS = ["queue_joined", "wait_begun", "after_seen", "queue_taken", "wait_over", "start_ends", "start_unmarked",
    "start_marked", "start_spawned", "start_unrecorded", "start_recorded", "end_seen", "end_unwritten", "end_written"]  # fmt: skip
# Where its guardian dies too, when it takes over. Not started yet, a job waits on; from then on it may have run, and is not
# started again
BOTH = [("after_seen", "after_seen"), ("queue_taken", "queue_taken"), ("wait_over", "takeover_seen"),
    ("start_marked", "start_marked"), ("start_spawned", "takeover_taken"), ("start_recorded", "takeover_locked")]  # fmt: skip


@pytest.fixture
def chain(cli: Cli, place: Path, work: Path) -> Any:
    """`chain(points)` starts the jobs, whose processes die at these points, and returns their ids."""
    configured(place, "[queue.heavy]\nslots = 1\n")

    def started(points: str) -> list[str]:
        tables = [
            f'[[jobs]]\nname = "{name}"\ncommand = "echo {name} >> ran"\nafter = {NAMES[number - 1 : number]}\n'
            for number, name in enumerate(NAMES)
        ]
        (work / "jobs.toml").write_text("".join(tables), encoding="utf-8")
        env = {fault_points.VARIABLE: points, fault_points.REPORT: str(work / "crashes")}
        answer = cli.ok("run", "--file", "jobs.toml", "--queue", "heavy", env=env)
        return [one["job_id"] for one in answer["jobs"]]

    return started


def runs(work: Path) -> list[str]:
    return (work / "ran").read_text(encoding="utf-8").split() if (work / "ran").exists() else []


def crashes(work: Path) -> list[str]:
    return (work / "crashes").read_text(encoding="utf-8").split()


def is_taken(place: Path) -> bool:
    table = Table.read(str(place / "home/.local/state/outlive/queues/heavy"))
    try:
        return locks.is_held(table.fd, 0, 1_024) or bool(table.length())
    finally:
        table.close()


def ended(cli: Cli, root: Path, jobs: list[str]) -> list[dict[str, Any]]:
    found = [cli.ok("wait", job, "--timeout-ms", "50s") for job in jobs]
    assert not any(one["timed_out"] for one in found)
    for job in jobs:
        pair.until_free(root, job)
    return [cli.ok("status", job) for job in jobs]


@pytest.mark.parametrize("point", only(lambda step: step in ("after_seen", "queue_joined", "queue_taken"), STEPS))
def test_a_chain_whose_supervisors_die_at_a_step_runs_once_and_in_order(
    point: str, chain: Any, cli: Cli, work: Path, place: Path, root: Path
) -> None:
    every = ended(cli, root, chain(point))
    assert [one["exit_code"] for one in every] == [0, 0, 0]
    assert runs(work) == NAMES
    # The first one waits for no job
    assert crashes(work) == [point] * (2 if point in ("after_seen", "wait_begun", "wait_over") else 3)
    assert not is_taken(place)
    assert cli.ok("run", "--wait", "--queue", "heavy", "true")["exit_code"] == 0, "the slot is free"


@pytest.mark.parametrize(("point", "then"), only(lambda both: both[0] == "queue_taken", BOTH))
def test_a_chain_whose_guardians_die_too_runs_in_order_or_says_why_not(
    point: str, then: str, chain: Any, cli: Cli, work: Path, place: Path, root: Path
) -> None:
    """The process by which another job waits for this one adopts it, with the same faults, unless this test looks first."""
    gate = cli.ok("run", "--snapshot-after", "0", "--queue", "heavy", GATE)["job_id"]
    jobs = chain(f"{point},{fault_points.SUCCESSOR}{then}")
    (work / "go").touch()
    every = ended(cli, root, [gate, *jobs])[1:]
    assert {*crashes(work)} == {point, f"{fault_points.SUCCESSOR}{then}"}
    ran = runs(work)
    assert ran == NAMES[: len(ran)], "each once, and in order"
    for number, one in enumerate(every):
        if one["state"] == "exited":
            assert number < len(ran)
        else:
            assert one["reason"] in ("lost", "launch", "dependency")
            assert one["message"]
        if number and every[number - 1]["exit_code"] != 0:
            assert one["reason"] == "dependency"
    assert not is_taken(place)
    assert cli.ok("run", "--wait", "--queue", "heavy", "true")["exit_code"] == 0, "the slot is free"


def test_a_chain_of_which_one_never_comes_into_line_is_taken_back(
    chain: Any, cli: Cli, work: Path, place: Path
) -> None:
    with pytest.raises(AssertionError, match=r"launch_failed.*job first: .*were ended and deleted"):
        chain(f"queue_joined,{fault_points.SUCCESSOR}queue_joined")
    assert cli.ok("list")["jobs"] == []
    assert (runs(work), is_taken(place)) == ([], False)
