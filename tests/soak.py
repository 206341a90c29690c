"""Random kills: `python -m tests.soak --kills 500 [--both] [--seed N]`.

Each job counts lines on both streams and ends with a code of its own. At a random moment of its life, its start and its
end included, its supervisor or its guardian is killed; with `--both` the two at once, while it runs. Every line, the
code and the number of runs are checked. Prints a short report; the exit status is 0 if nothing was lost.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from support import pair, processes
from support.preloaded import OUTLIVE
from support.wait import until

LINES = 300
END_S = 240  # the end of a job may take so long on a busy machine
KERNEL = tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])
# argv: a file that tells of each run, the code, and a file to wait for at the end (or nothing)
COMMAND = (
    """
import os, sys, time
with open(sys.argv[1], "a") as file:
    file.write("run\\n")
for n in range(1, %d + 1):
    os.write(1, b"out %%d\\n" %% n)
    os.write(2, b"err %%d\\n" %% n)
    if n %% 20 == 0:
        time.sleep(0.003)
while sys.argv[3] and not os.path.exists(sys.argv[3]):
    time.sleep(0.005)
os.write(1, b"last\\n")
os._exit(int(sys.argv[2]))
"""
    % LINES
)
EXPECTED = (
    b"".join(b"out %d\n" % n for n in range(1, LINES + 1)) + b"last\n",
    b"".join(b"err %d\n" % n for n in range(1, LINES + 1)),
)


class Soak:
    """Jobs under one place, killed over and over. `lost` holds a sentence for each thing that went wrong."""

    def __init__(self, place: Path, chance: random.Random, *, both: bool) -> None:
        self.place, self.chance, self.both = place, chance, both
        self.root = place / "jobs"
        self.env = os.environ | {"HOME": str(place), "OUTLIVE_ROOT": str(self.root)}
        self.lost: list[str] = []
        self.kills: Counter[str] = Counter()
        self.ends: Counter[str] = Counter()
        self.adopted = 0
        self.life_s = 0.1  # of one command; measured as it goes

    def outlive(self, *words: str) -> dict[str, Any]:
        done = subprocess.run(
            [*OUTLIVE, *words], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def turn(self, number: int) -> None:
        """One job, killed once unless it was faster."""
        code = self.chance.randint(1, 100)
        ran, go = self.place / f"ran{number}", self.place / f"go{number}"
        before = self._ids()
        words = [*OUTLIVE, "run", "--snapshot-after", "0", "--", sys.executable, "-S", "-c", COMMAND]
        words += [str(ran), str(code), str(go) if self.both else ""]
        with subprocess.Popen(words, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as call:
            job = until(lambda: self._ids() - before, what="the job's directory").pop()
            target = self._kill_both(job) if self.both else self._kill_one(job)
            call.communicate(timeout=END_S)
        if self.both:
            self.outlive("status", job)  # this look adopts it
            go.touch()
        ended = self.outlive("wait", job, "--timeout-ms", f"{END_S}s")
        if not target:
            self.life_s = 0.8 * self.life_s + 0.2 * (ended.get("duration_ms") or 0) / 1000
        for wrong in self._wrongs(job, ended, code, ran):
            self.lost.append(f"job {number}, {target or 'nobody'} killed: {wrong}")
        self.adopted += bool(self.outlive("status", job).get("adopted"))
        self.ends[str(ended.get("reason"))] += 1
        self.outlive("remove", job)

    def _ids(self) -> set[str]:
        return {name for name in os.listdir(self.root) if not name.startswith(".")} if self.root.exists() else set()

    def _kill_one(self, job: str) -> str:
        """Whom it met; "" if the job was over before."""
        time.sleep(self.chance.uniform(0, 1.2 * self.life_s))
        who = self.chance.choice((pair.SUPERVISOR, pair.GUARDIAN))
        supervisor = pair.supervisor_now(job)
        pid = supervisor if who == pair.SUPERVISOR else processes.parent(supervisor)
        if not supervisor or pair.comm(pid) != who:
            return ""
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            self.kills[who] += 1
        return who

    def _kill_both(self, job: str) -> str:
        """While it runs: its identity is on disk, and it waits for a word of ours before it ends."""
        state = self.root / job / "state.json"
        until(lambda: state.exists() and json.loads(state.read_bytes())["pid"], what="the recorded command")
        time.sleep(self.chance.uniform(0, self.life_s / 2))
        pair.end_both(pair.supervisor(job))
        self.kills["both"] += 1
        return "both"

    def _wrongs(self, job: str, ended: dict[str, Any], code: int, ran: Path) -> list[str]:
        found = []
        told = (ended.get("state"), ended.get("reason"), ended.get("exit_code"))
        known = told == ("exited", "exit", code)
        if not known and not (self.both and KERNEL < (6, 15) and told == ("failed", "lost", None)):
            found.append(f"it ended as {told}, not with code {code}: {ended.get('message') or ended.get('error')}")
        runs = ran.read_text(encoding="utf-8").count("run") if ran.exists() else 0
        if runs != 1:
            found.append(f"it ran {runs} times")
        for name, expected in zip(("stdout.log", "stderr.log"), EXPECTED, strict=True):
            log = (self.root / job / name).read_bytes()
            if log != expected:
                found.append(f"{name} holds {len(log)} bytes of {len(expected)}, right up to {_common(log, expected)}")
        merged = self.outlive("status", job).get("next_seq")
        if merged != sum(map(len, EXPECTED)):
            found.append(f"the merged stream holds {merged} bytes of {sum(map(len, EXPECTED))}")
        return found


def _common(found: bytes, expected: bytes) -> int:
    pairs = zip(found, expected, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(found), len(expected)))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="how many (default 100)")
    parser.add_argument("--both", action="store_true", help="supervisor and guardian at once")
    parser.add_argument("--seed", type=int, help="repeats the choices of an earlier run")
    given = parser.parse_args(argv)
    seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="outlive-soak-") as place:
        soak = Soak(Path(place), random.Random(seed), both=given.both)
        jobs = 0
        while soak.kills.total() < given.kills and jobs < 3 * given.kills + 10:
            soak.turn(jobs)
            jobs += 1
    enough = soak.kills.total() >= given.kills
    sys.stdout.write(
        f"seed {seed}: {jobs} jobs, {soak.kills.total()} kills ({_shown(soak.kills)}), {soak.adopted} taken over, "
        f"ends: {_shown(soak.ends)}, {2 * LINES + 1} lines each, {time.monotonic() - began:.0f} s\n"
        + "".join(f"LOST: {wrong}\n" for wrong in soak.lost)
        + ("nothing was lost\n" if not soak.lost else "")
        + ("" if enough else f"only {soak.kills.total()} of {given.kills} kills met anybody\n")
    )
    return 0 if enough and not soak.lost else 1


def _shown(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


if __name__ == "__main__":
    sys.exit(main())
