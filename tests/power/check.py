"""Holds every state of a recording against what the recording promised."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from power import cases, model, recover
from power.facts import Facts

_SHOWN = 5  # broken promises that are shown of each kind


class Report(NamedTuple):
    """`states`: how many there were; `distinct`: how many of them differed, in what is there or in what holds, and were
    read. `broken`: kind → how many; `examples`: some sentences of each."""

    states: int
    distinct: int
    broken: Counter[str]
    examples: list[str]

    def __add__(self, other: Report) -> Report:  # type: ignore[override]  # adds, where a tuple appends
        return Report(
            self.states + other.states,
            self.distinct + other.distinct,
            self.broken + other.broken,
            self.examples + other.examples,
        )

    def text(self) -> str:
        lines = [f"{self.states:,} states, {self.distinct:,} of them distinct and read"]
        lines += [f"{count:6,} broken: {kind}" for kind, count in self.broken.most_common()]
        return "\n".join(lines + self.examples)


NOTHING = Report(0, 0, Counter(), [])


def check(
    name: str, recording: model.Recording, crashes: Iterable[model.Crash], place: Path, *, thorough: bool
) -> Report:
    """Read each state in `place`, with all verbs if `thorough`, else with some of them in turn."""
    facts = Facts(recording)
    seen: set[int] = set()
    states, broken, examples = 0, Counter[str](), list[str]()
    with recover.another_boot():
        reader = recover.Reader(place / "root")
        for crash in crashes:
            states += 1
            promises = tuple(facts.promises(crash.cut))
            key = hash((crash.tree, promises))
            if key in seen:
                continue
            seen.add(key)
            recover.laid(crash.tree, place)
            for job, sentence in reader.state(promises, len(seen), thorough=thorough):
                kind = sentence.partition(":")[0]
                broken[kind] += 1
                if broken[kind] <= _SHOWN:
                    examples.append(f"{name}, {_where(recording, crash.cut)}: {job}: {sentence}")
    return Report(states, len(seen), broken, examples)


def _where(recording: model.Recording, cut: int) -> str:
    """The last changes before a cut, in words."""
    last = recording.changes[max(0, cut - 3) : cut]
    return f"cut {cut} behind " + ", ".join(
        str(one.mark.get("point") or one.op) if one.op == "mark" else f"{one.op} {one.to_name or one.name}".strip()
        for one in last
    )


def check_all(names: Iterable[str], place: Path) -> Report:
    """Record these cases and check all their states up to the bound, on all cores."""
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=get_context("fork")) as pool:
        found = {name: pool.submit(_check_one, name, place / name.replace(" ", "-")) for name in names}
        total = NOTHING
        for name, one in found.items():
            sys.stderr.write(f"{name}: {one.result().text()}\n")
            total += one.result()
    return total


def _check_one(name: str, place: Path) -> Report:
    recording = cases.recorded(name, place)
    return check(name, recording, recording.crashes(cases.CASES[name].width), place / "state", thorough=False)
