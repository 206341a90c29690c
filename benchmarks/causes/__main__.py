"""Measure which share of the lines that name the cause of a failure an answer shows.

    python -m benchmarks.causes                   all logs, at 4, 8, 16 and 32 KiB (four minutes)
    python -m benchmarks.causes --logs own --budgets 8192 --missing

Each log is printed by a job that fails; what the answer of `poll` shows is scored. A critical signal
counts as shown if all of its evidence lines are, or if its value, an alias of it, or its file stands
in the text. The chooser was tuned on `dev` alone.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
BUDGETS = (4_096, 8_192, 16_384, 32_768)
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_EVIDENCE_CHARS = 380  # of a line: longer ones are shortened where they are shown


class Log(NamedTuple):
    """A log of the corpus. `signals`: {type, value?, aliases?, file?, importance, evidence_lines [[first, last]]}, lines from 1."""

    part: str  # "dev" is the part that the chooser was tuned on
    name: str
    text: bytes
    signals: list[dict[str, Any]]

    @property
    def critical(self) -> list[dict[str, Any]]:
        return [one for one in self.signals if one["importance"] == "critical"]


def logs(wanted: str = "") -> Iterator[Log]:
    """Yield the logs whose part and name begin with `wanted`."""
    for path in sorted(HERE.rglob("raw.log.xz")):
        part, name = path.parent.parent.name, path.parent.name
        if f"{part}/{name}".startswith(wanted):
            truth = json.loads((path.parent / "ground_truth.json").read_bytes())
            yield Log(part, name, lzma.decompress(path.read_bytes()), truth["required_signals"])


def share(log: Log, shown: str) -> tuple[float, list[str]]:
    """Return the share of the critical signals that a text shows, and those that it does not."""
    lines = [_ESCAPES.sub("", line).rstrip("\r").strip() for line in log.text.decode("utf-8", "replace").split("\n")]
    shown = _ESCAPES.sub("", shown)
    missing = [one for one in log.critical if not _is_shown(one, lines, shown)]
    told = [f"{one['evidence_lines']} {one.get('value') or one.get('file')}" for one in missing]
    return 1 - len(missing) / len(log.critical), told


def _is_shown(signal: dict[str, Any], lines: list[str], shown: str) -> bool:
    evidence = [lines[number - 1] for first, last in signal["evidence_lines"] for number in range(first, last + 1)]
    if evidence and all(line[:_EVIDENCE_CHARS] in shown for line in evidence):
        return True
    names = (signal.get("value"), *signal.get("aliases", ()), signal.get("file"))
    return any(name in shown for name in names if name)


def _ends(head: float) -> Callable[[bytes, int], bytes]:
    """Return a method that keeps whole lines of both ends: of the head this share of the budget."""

    def kept(text: bytes, budget: int) -> bytes:
        if len(text) <= budget:
            return text
        first = text[: int(budget * head)]
        last = text[len(text) - (budget - int(budget * head)) :]
        return first[: first.rfind(b"\n") + 1] + last[last.find(b"\n") + 1 :]

    return kept


BESIDE: dict[str, Callable[[bytes, int], bytes]] = {
    "half and half (Codex; Claude Code where a command failed)": _ends(1 / 2),
    "the beginning (Claude Code where it did not)": _ends(1),
    "the end": _ends(0),
}


class Outlive:
    """The program, with a job root of its own. A log is printed once, and shown in many ways."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._environment = {**os.environ, "OUTLIVE_ROOT": str(place / "jobs"), "HOME": str(place)}

    def _call(self, *words: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "outlive", *words]
        done = subprocess.run(command, env=self._environment, capture_output=True, check=True)
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def job(self, log: Log) -> str:
        """Return the id of a job that printed the log and failed."""
        path = self._place / "log"
        path.write_bytes(log.text)
        return str(self._call("run", "--wait", "--", "sh", "-c", f"cat '{path}'; exit 1")["job_id"])

    def shown(self, job: str, budget: int, show: str) -> str:
        words = ("poll", "--since-seq", "0", "--max-bytes", str(budget), "--show", show, job)
        return str(self._call(*words)["output"])


def measured(chosen: list[Log], budgets: list[int]) -> dict[str, Any]:
    """Return {budget: {method: {part/name: share}}}, and what the choice does not show."""
    found: dict[str, Any] = {str(budget): {} for budget in budgets}
    missing: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as place:
        outlive = Outlive(Path(place))
        for log in chosen:
            name, job = f"{log.part}/{log.name}", outlive.job(log)
            for budget in budgets:
                shown = {method: kept(log.text, budget).decode("utf-8", "replace") for method, kept in BESIDE.items()}
                shown |= {f"show = {show}": outlive.shown(job, budget, show) for show in ("plain", "auto")}
                for method, text in shown.items():
                    value, lacks = share(log, text)
                    found[str(budget)].setdefault(method, {})[name] = value
                    if method == "show = auto" and lacks:
                        missing[f"{name} at {budget}"] = lacks
    return {"shares": found, "missing": missing}


def table(shares: dict[str, Any]) -> str:
    """Return the means as a table: a row for each method and part of the corpus, a column for each budget."""
    budgets = list(shares)
    rows = [f"| logs | method | {' | '.join(f'{int(one) / 1024:g} KiB' for one in budgets)} |"]
    rows.append("|---|---|" + "---|" * len(budgets))
    names = list(next(iter(shares[budgets[0]].values())))
    parts = {"all": names, "dev (tuned on)": [one for one in names if one.startswith("dev/")]}
    parts["LogDx, the rest"] = [one for one in names if not one.startswith(("dev/", "own/"))]
    parts["our own"] = [one for one in names if one.startswith("own/")]
    for part, members in parts.items():
        for method in shares[budgets[0]] if members else ():
            means = [sum(shares[one][method][name] for name in members) / len(members) for one in budgets]
            rows.append(f"| {part} ({len(members)}) | {method} | {' | '.join(f'{mean:.3f}' for mean in means)} |")
    worse = [
        sum(shares[one]["show = auto"][name] < shares[one]["show = plain"][name] - 0.05 for name in names)
        for one in budgets
    ]
    rows.append(
        f"| all ({len(names)}) | logs of which auto shows over 0.05 less than plain | {' | '.join(map(str, worse))} |"
    )
    return "\n".join(rows)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.causes", description=__doc__.split("\n")[0])
    parser.add_argument("--logs", default="", help="part, or part/name, with which the logs begin")
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)), help="bytes of an answer")
    parser.add_argument("--missing", action="store_true", help="also print the signals that auto does not show")
    parser.add_argument("--json", type=Path, help="write every share to this file")
    asked = parser.parse_args(argv)
    chosen = list(logs(asked.logs))
    if not chosen:
        print(f"no log begins with {asked.logs}", file=sys.stderr)
        return 2
    found = measured(chosen, [int(one) for one in asked.budgets.split(",")])
    print(table(found["shares"]))
    if asked.missing:
        for name, lacks in found["missing"].items():
            print(f"{name}:", *lacks, sep="\n    ")
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
