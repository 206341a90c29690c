"""The campaign of kills, briefly; `python -m tests.campaign --minutes 60` is the long one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from campaign import check, jobs, plan, victims
from campaign.grounds import Grounds
from campaign.lane import Lane
from campaign.plan import Act, JobPlan
from campaign.tally import Tally
from campaign.turn import Told, Turn

CHECKOUT = Path(__file__).parents[2]
FAST = "kill,pipe,quota,sinks,stdin,terminal,watch"


def campaign(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run one as from a clean clone. It leaves nothing in its directory for temporary files, whose name is short: sockets
    lie in it."""
    with tempfile.TemporaryDirectory(prefix="oc-") as short:
        done = subprocess.run(
            [sys.executable, "-m", "tests.campaign", *words, "--keep", str(place / "kept")],
            cwd=CHECKOUT,
            env=os.environ | {"TMPDIR": short},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert not list(Path(short).glob("outlive-campaign-*"))
    return done


@pytest.mark.fault("F03")
def test_a_short_campaign_of_kills_finds_nothing_wrong(place: Path) -> None:
    done = campaign(place, "--minutes", "0.02", "--seed", "5", "--kinds", FAST)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(" kills, 0 failures\n")


@pytest.mark.fault("F03")
@pytest.mark.slow
def test_a_minute_of_every_kind_of_job_finds_nothing_wrong(place: Path) -> None:
    done = campaign(place, "--minutes", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(" kills, 0 failures\n")


def test_a_seed_repeats_the_plan_of_every_job_and_another_seed_has_another_plan() -> None:
    def plans(seed: int) -> list[JobPlan]:
        return [plan.job(seed, lane, number) for lane in plan.LANES for number in range(20)]

    assert plans(1) == plans(1)
    assert plans(1) != plans(2)
    assert {one.kind for one in plans(1)} | {one.kind for one in plans(2)} == set(plan.KINDS)


def test_no_plan_needs_more_supervisors_than_a_job_is_given_in_a_row() -> None:
    for number in range(300):
        one = plan.job(3, "local", number)
        alive, adoptions = 2, 2 * sum(act.name == plan.CRASH_ADOPTION for act in one.running)
        for act in one.running:
            alive = (
                0 if act.name == plan.KILL_BOTH else alive - (act.name in (plan.KILL_SUPERVISOR, plan.KILL_GUARDIAN))
            )
            if not alive:
                alive, adoptions = 2, adoptions + 1
        assert adoptions <= (0 if one.kind in plan.NO_ADOPTION else plan.MOST_ADOPTIONS), str(one)


def test_only_processes_of_the_job_that_was_named_are_held(place: Path) -> None:
    assert victims.supervisor("01ARZ3NDEKTSV4RRFFQ69G5FAV") is None
    with pytest.raises(ProcessLookupError):
        victims.Held(os.getpid(), lambda _: False)
    with pytest.raises(ProcessLookupError):
        victims.Held(0, lambda _: True)


def _cut(files: jobs.Files, log: Path) -> None:
    log.write_bytes(log.read_bytes()[:-3])


def _another(files: jobs.Files, log: Path) -> None:
    log.write_bytes(log.read_bytes().replace(b"out 7\n", b"out 8\n"))


def _second_run(files: jobs.Files, log: Path) -> None:
    with files.ledger.open("a") as ledger:
        ledger.write("run\n")


@pytest.mark.parametrize(
    ("spoil", "named"),
    [(_cut, "stdout.log holds"), (_another, "right up to"), (_second_run, "it ran 2 times")],
)
def test_a_campaign_names_what_is_wrong_with_a_job(
    place: Path, spoil: Callable[[jobs.Files, Path], None], named: str
) -> None:
    lane = Lane(Grounds(place / "campaign"), "local")
    one = JobPlan("local", 0, "pipe", code=7, lines=30, running=(Act(plan.KILL_SUPERVISOR),))
    turn = Turn(lane, one, Tally())
    told = turn.play()

    def wrongs(found: Told) -> str:
        return "\n".join(check.wrongs(one, turn.files, lane.root, found))

    assert wrongs(told) == ""
    spoil(turn.files, lane.root / told.job / "stdout.log")
    assert named in wrongs(told)
    told.status["exit_code"] = 0
    assert "exit_code=0" in wrongs(told)
    assert turn.call("remove", told.job)["ok"]
