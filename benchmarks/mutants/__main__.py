"""Measure what a cycle of edit, test and look costs in characters, and whether it hides a new failure.

    python -m benchmarks.mutants                       all four projects, 50 mutants each
    python -m benchmarks.mutants --projects shell --mutants 10 --missing

Each project passes its tests. A mutant is its source with one operator or constant changed. Its tests run as a job, and
what a model reads of it is counted with the arguments of the calls: of `exec` as it answers by default (8 KiB, the lines
chosen or plain), and of `exec` with little output and, where it failed, `log` with `compare = passed`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from outlive.mcp.tools.answer_text import render

HERE = Path(__file__).parent
SEED = 11
BUDGET = 8_192
LITTLE = 1  # bytes of output that `exec` shows where `log` is asked what changed
WAYS = ("exec, lines chosen", "exec, plain", "exec with little, log compare")
_SWAPS = dict(
    one.split()
    for one in (
        *(
            "+ -",
            "- +",
            "* /",
            "/ *",
            "// *",
            "% *",
            "< <=",
            "<= <",
            "> >=",
            ">= >",
            "== !=",
            "!= ==",
            "=== !==",
            "!== ===",
        ),
        *("and or", "or and", "&& ||", "|| &&", "-lt -le", "-gt -ge", "-ge -gt", "-eq -ne"),
    )
)
_PLACES = re.compile(
    r"(?<=\s)(?:" + "|".join(map(re.escape, sorted(_SWAPS, key=len, reverse=True))) + r")(?=\s)|\b\d+\b"
)


class Project(NamedTuple):
    """A project. `failed`: how its output names a failed test, in group 1."""

    name: str
    source: str
    command: str
    failed: str
    needs: str


PROJECTS = (
    Project("python", "ledger.py", "timeout 10 python3 -B test_ledger.py", r"^(?:FAIL|ERROR): (\w+)", "python3"),
    Project("c", "ring.c", "make -B check", r"^FAIL: (\w+)", "gcc"),
    Project("node", "text.mjs", "timeout 20 node --test", r"^not ok \d+ - (.+)", "node"),
    Project("shell", "units.sh", "timeout 10 sh test.sh", r"^not ok \d+ - (.+)", "sh"),
)


class Cycle(NamedTuple):
    """One mutant. `chars` and `hidden` for each of WAYS: what is read and written, and the failed tests not named."""

    mutant: str
    failed: list[str]
    chars: tuple[int, ...]
    hidden: tuple[list[str], ...]


def mutants(source: str, count: int) -> list[tuple[str, str]]:
    """Return so many mutants of a source, chosen by SEED: what was changed, and the text."""
    places = list(_PLACES.finditer(source))
    chosen = sorted(random.Random(SEED).sample(range(len(places)), min(count, len(places))))
    found = []
    for place in (places[number] for number in chosen):
        new = _SWAPS.get(place[0]) or str(int(place[0]) + 1)
        line = source.count("\n", 0, place.start()) + 1
        text = f"{source[: place.start()]}{new}{source[place.end() :]}"
        found.append((f"line {line}: {place[0]} becomes {new}", text))
    return found


class Outlive:
    """The program, with a job root of its own, in the directory of a project."""

    def __init__(self, place: Path, project: Project) -> None:
        self._project = project
        self.work = place / project.name
        self.work.mkdir()
        for path in (HERE / project.name).iterdir():  # kept as text, so that no tool takes them for ours
            shutil.copy(path, self.work / path.name.removesuffix(".txt"))
        self._environment = {**os.environ, "OUTLIVE_ROOT": str(place / "jobs"), "HOME": str(place)}

    def call(self, *words: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "outlive", *words]
        done = subprocess.run(command, env=self._environment, cwd=self.work, capture_output=True, check=True)
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def cycle(self, mutant: str, text: str) -> Cycle:
        """Run the tests of a mutant, and look at the answers in each way."""
        (self.work / self._project.source).write_text(text, encoding="utf-8")
        answer = self.call("run", "--wait", "--max-bytes", str(BUDGET), self._project.command)
        job = answer["job_id"]
        output = Path(answer["stdout_log_path"]).read_text() + Path(answer["stderr_log_path"]).read_text()
        failed = sorted(set(re.findall(self._project.failed, output, re.MULTILINE)))
        plain = self._shown(answer, BUDGET, "plain")
        little = self._shown(answer, LITTLE, "auto")
        today = {name: value for name, value in answer.items() if name != "previous"}  # as before there was one
        texts = [render(today), render({**plain, "previous": None})]
        call = json.dumps({"command": self._project.command})
        calls = [call, call]
        compared = render(little)
        call = json.dumps({"command": self._project.command, "max_bytes": LITTLE})
        if answer["exit_code"]:
            compared += "\n" + render(self.call("log", "--compare", "passed", "--max-bytes", str(BUDGET), job))
            call += json.dumps({"action": "log", "job_id": job[-8:], "compare": "passed"})
        seen = [*texts, compared]
        return Cycle(
            mutant,
            failed,
            tuple(len(one) + len(asked) for one, asked in zip(seen, [*calls, call], strict=True)),
            tuple([name for name in failed if name not in one] for one in seen),
        )

    def _shown(self, answer: dict[str, Any], budget: int, show: str) -> dict[str, Any]:
        """Return the answer of `run` as it is with another budget."""
        words = ("poll", "--since-seq", "0", "--max-bytes", str(budget), "--show", show, answer["job_id"])
        polled = self.call(*words)
        return {**answer, "output": polled["output"], "truncated": polled["truncated"]}


def measured(project: Project, count: int) -> list[Cycle]:
    """Return the cycles of a project. Its tests pass first: what `compare` looks back to."""
    with tempfile.TemporaryDirectory() as place:
        outlive = Outlive(Path(place), project)
        source = (outlive.work / project.source).read_text(encoding="utf-8")
        first = outlive.cycle("none", source)
        if first.failed:
            raise SystemExit(f"the tests of {project.name} fail: {first.failed}")
        return [outlive.cycle(mutant, text) for mutant, text in mutants(source, count)]


def row(name: str, cycles: list[Cycle]) -> str:
    """Return one row of the table: the share of characters is that of all cycles together."""
    sums = [sum(cycle.chars[way] for cycle in cycles) for way in range(len(WAYS))]
    medians = [round(statistics.median(cycle.chars[way] for cycle in cycles)) for way in range(len(WAYS))]
    hidden = [sum(len(cycle.hidden[way]) for cycle in cycles) for way in range(len(WAYS))]
    failing = sum(bool(cycle.failed) for cycle in cycles)
    failures = sum(len(cycle.failed) for cycle in cycles)
    cells = [name, len(cycles), failing, failures, *(f"{one:,}" for one in medians), f"{100 * sums[2] / sums[0]:.0f} %"]
    return f"| {' | '.join(map(str, cells))} | {' / '.join(map(str, hidden))} |"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__.split("\n")[0])
    parser.add_argument("--projects", default=",".join(one.name for one in PROJECTS), help="their names")
    parser.add_argument("--mutants", type=int, default=50, help="of each project, at most")
    parser.add_argument(
        "--missing", action="store_true", help="also print the failed tests that an answer does not name"
    )
    asked = parser.parse_args(argv)
    print(f"| project | mutants | with failures | failed tests | {' | '.join(WAYS)} | share | hidden |")
    print("|---|---|---|---|---|---|---|---|---|")
    every: list[Cycle] = []
    for project in PROJECTS:
        if project.name not in asked.projects.split(","):
            continue
        if shutil.which(project.needs) is None:
            print(f"there is no {project.needs}: {project.name} is left out", file=sys.stderr)
            continue
        cycles = measured(project, asked.mutants)
        every += cycles
        print(row(project.name, cycles), flush=True)
        for cycle in cycles if asked.missing else ():
            for way, hidden in zip(WAYS, cycle.hidden, strict=True):
                if hidden:
                    print(f"    {cycle.mutant}: {way}: {', '.join(hidden)}")
    if every:
        print(row("all", every))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
