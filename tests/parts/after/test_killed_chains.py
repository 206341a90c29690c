"""Chains of jobs while processes of ours are killed at random: each job runs once, and in its order, or says why not."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import pair, processes
from support.cli import Cli
from support.jobs import rewrite
from support.tiers import first

LENGTH = 4
KILLS = 10  # of a chain
# Its first act says that it runs; it ends well if nothing kills it
COMMAND = "echo {number} >> ran; sleep 0.2; exit 0"
WHY_NOT = {"dependency", "lost", "launch"}


def chain(cli: Cli) -> list[str]:
    """Start jobs of which each waits for the one before; the first waits for a gate."""
    gate = cli.ok("run", "--snapshot-after", "0", "until [ -e gate ]; do sleep 0.02; done")["job_id"]
    jobs = [str(gate)]
    for number in range(LENGTH):
        job = cli.ok("create", COMMAND.format(number=number))["job_id"]
        rewrite(cli.root / job / "meta.json", after=[{"job": jobs[-1], "exit": 0}])
        cli.ok("start", job, "--snapshot-after", "0")
        jobs.append(str(job))
    return jobs


def ours(jobs: list[str]) -> Iterator[list[int]]:
    """Yield, for each job, its guardian and its supervisor, and what they have below them: as far as they are there."""
    for job in jobs:
        supervisor = pair.supervisor_now(job)
        if supervisor:
            above = processes.parent(supervisor)
            guardian = [above] if pair.comm(above) == pair.GUARDIAN else []
            yield [*guardian, supervisor, *processes.descendants(supervisor)]


def kill_some(chosen: random.Random, jobs: list[str]) -> None:
    """Kill processes of one job, which one is left to chance: one of them, some, or all at once."""
    alive = [found for found in ours(jobs) if found]
    if not alive:
        return
    victims = chosen.choice(alive)
    some = chosen.sample(victims, chosen.randint(1, len(victims)))
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in some:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue


def outcome(cli: Cli, job: str) -> dict[str, Any]:
    cli.ok("wait", job, "--timeout-ms", "50s")
    return cli.ok("status", job)


@pytest.mark.parametrize("seed", first(2, range(20)))
def test_each_job_of_a_chain_runs_once_and_in_order_or_says_why_not(seed: int, cli: Cli) -> None:
    chosen = random.Random(seed)
    jobs = chain(cli)
    for number in range(KILLS):
        if number == KILLS // 2:
            Path("gate").touch()
        kill_some(chosen, jobs[1:] if number < KILLS // 2 else jobs)
        cli.ok("list", "--all")  # a reader, who may be the first to find out
        cli.ok("status", chosen.choice(jobs))
    ended = [outcome(cli, job) for job in jobs[1:]]
    ran = Path("ran").read_text(encoding="utf-8").split() if Path("ran").exists() else []
    assert ran == sorted(set(ran)), "no job ran twice, nor before the job that it waits for"
    for number, one in enumerate(ended):
        if one["exit_code"] == 0:
            assert str(number) in ran
            assert number == 0 or ended[number - 1]["exit_code"] == 0, (
                "it ran though the job before it did not end well"
            )
        else:
            assert one["reason"] in WHY_NOT | {"signal"}, one
            assert one.get("message") or one["reason"] == "signal", one
