"""A campaign: `python -m tests.campaign --minutes 10 [--seed N] [--kinds pipe,ssh]`.

Jobs of all kinds run while their supervisors, guardians, launchers, servers, fork servers, mirrors and readers are killed
or stopped, disks fill up, clocks jump, and pip replaces outlive. Every byte of output, every outcome and the number
of runs of each command is checked. Kinds that this machine cannot do are named and left out.

A seed repeats the plan of every job: what is started, and what happens to it at which part of its output. The moments
at which the processes get a core are not repeated. `--job local1-17` runs one job of a seed alone.

What is wrong with a job is printed with its plan, and its directory is kept. Exit status: 0, or 1 if anything was.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest has it

from campaign import check, grounds, plan
from campaign.lane import OF_LANE, Lane
from campaign.plan import KINDS, LANES, JobPlan
from campaign.tally import Tally
from campaign.turn import Turn
from support import processes
from support.wait import until

INSTALL = "pip"
LEFT_S = 60.0  # so long the last processes of a campaign may take to end
EVERY_S = (10.0, 30.0)  # between two installations


class Campaign:
    def __init__(self, given: argparse.Namespace, place: Path, seed: int) -> None:
        self.given, self.place, self.seed = given, place, seed
        self.grounds = grounds.Grounds(place)
        self.tally = Tally()
        self.installed = 0  # how often, besides the first time
        self.ends = time.monotonic() + 60 * given.minutes
        self.over = threading.Event()
        self._lock = threading.Lock()

    def say(self, text: str) -> None:
        with self._lock:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    def fail(self, text: str) -> None:
        self.tally.failed()
        self.say(f"FAILURE {text}")

    def run(self) -> None:
        wanted = set(self.given.kinds.split(","))
        for name, why in grounds.lacking(self.place, wanted).items():
            self.say(f"left out: {name}: {why}")
            wanted.discard(name)
        if INSTALL in wanted:
            self.grounds.install()
        names = [name for name, kinds in LANES.items() if wanted & {*kinds}]
        if "local" in names:
            names += [f"local{number}" for number in range(1, self.given.lanes)]
        if self.given.job:
            names = [self.given.job.rpartition("-")[0]]
        threads = [threading.Thread(target=self._guarded, args=(name, wanted)) for name in names]
        if INSTALL in wanted:
            threads.append(threading.Thread(target=self._replace))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for what in processes.wait_gone(self.place, LEFT_S).values():
            self.fail(f"left behind: {what}")

    def _is_over(self) -> bool:
        enough = self.given.kills and self.tally.kills.total() >= self.given.kills
        return bool(self.over.is_set() or enough or time.monotonic() > self.ends)

    def _guarded(self, name: str, wanted: set[str]) -> None:
        try:
            self._lane(name, wanted)
        except BaseException:  # noqa: BLE001 - a thread has no caller
            self.fail(f"lane {name} broke: {traceback.format_exc()}")

    def _lane(self, name: str, wanted: set[str]) -> None:
        lane = OF_LANE[plan.lane_kind(name)](self.grounds, name)
        only = [int(self.given.job.rpartition("-")[2])] if self.given.job else []
        try:
            for number in only or itertools.count():
                one = plan.job(self.seed, name, number)
                if self._is_over():
                    break
                if one.kind in wanted:
                    self._turn(lane, one)
        finally:
            for what in lane.close():
                self.fail(f"lane {name}: {what}")

    def _turn(self, lane: Lane, one: JobPlan) -> None:
        turn = Turn(lane, one, self.tally)
        try:
            told = turn.play()
            wrongs = check.wrongs(one, turn.files, lane.root, told)
        except Exception:  # noqa: BLE001 - what a job does to this program is one of its failures
            wrongs = [traceback.format_exc()]
        self.tally.ran(one.kind)
        if wrongs:
            kept = self._keep(lane, turn)
            self.fail(
                "\n".join([f"seed {self.seed}, {one}", *(f"  WRONG: {wrong}" for wrong in wrongs), f"  kept: {kept}"])
            )
        job = turn.told.job
        if job:
            try:
                until(lambda: self._is_removed(turn, job), what=f"{job} is removed", timeout=120)
            except AssertionError:
                self.fail(f"seed {self.seed}, {one}\n  WRONG: {traceback.format_exc()}")
        for path in lane.work.glob(f"{one.name}.*"):
            path.unlink()

    def _is_removed(self, turn: Turn, job: str) -> bool:
        answer = turn.call("remove", job)
        return bool(answer["ok"] or answer["error"]["code"] == "job_not_found")

    def _keep(self, lane: Lane, turn: Turn) -> Path:
        """Copy the directory of a job, and what lies beside it, to where the campaign does not delete it."""
        to = Path(tempfile.mkdtemp(prefix=f"{turn.plan.name}-", dir=self.given.keep))
        if turn.told.job and (lane.root / turn.told.job).exists():
            shutil.copytree(lane.root / turn.told.job, to / turn.told.job, ignore=shutil.ignore_patterns(".io"))
        for path in lane.work.glob(f"{turn.plan.name}.*"):
            shutil.copy2(path, to)
        (to / "plan").write_text(f"seed {self.seed}, {turn.plan}\n{turn.told}\n", encoding="utf-8")
        return to

    def _replace(self) -> None:
        dice = random.Random(f"{self.seed}/{INSTALL}")
        while not self.over.wait(min(dice.uniform(*EVERY_S), max(0.0, self.ends - time.monotonic()))):
            if self._is_over():
                return
            try:
                self.grounds.install()
                self.installed += 1
            except AssertionError as error:
                self.fail(f"{INSTALL}: {error}")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaign", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=1.0, help="how long (default 1)")
    parser.add_argument("--kills", type=int, default=0, help="end sooner, after so many kills")
    parser.add_argument("--seed", type=int, help="repeats the plan of an earlier campaign")
    every = ",".join((*KINDS, INSTALL))
    parser.add_argument("--kinds", default=every, help=f"only these (default: {every})")
    parser.add_argument("--lanes", type=int, default=2, help="how many jobs run at once on this machine (default 2)")
    parser.add_argument("--job", help="only this job of the plan, such as local1-17")
    parser.add_argument(
        "--keep", type=Path, help="where directories of failed jobs are kept (default: a new one in /tmp)"
    )
    given = parser.parse_args(argv)
    seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
    given.keep = (given.keep or Path(tempfile.mkdtemp(prefix="outlive-campaign-kept-"))).absolute()
    given.keep.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="outlive-campaign-"))
    os.chdir(place)
    campaign = Campaign(given, place, seed)
    for number in (signal.SIGTERM, signal.SIGINT):  # what runs comes to its end
        signal.signal(number, lambda *_: campaign.over.set())
    campaign.say(f"seed {seed}")
    try:
        campaign.run()
    finally:
        processes.end_all(place)
        shutil.rmtree(place, ignore_errors=True)
        if not any(given.keep.iterdir()):
            given.keep.rmdir()
    if campaign.installed:
        campaign.say(f"pip replaced outlive {campaign.installed} times")
    campaign.say(str(campaign.tally))
    return 1 if campaign.tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
