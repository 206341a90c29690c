"""The benchmark of a cycle of edit, test and look: its mutants are always the same, and it finds what an answer hides."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.mutants import __main__ as mutants

from support.cli import Jobs

SHELL = next(one for one in mutants.PROJECTS if one.name == "shell")


@pytest.mark.parametrize("project", mutants.PROJECTS, ids=lambda one: one.name)
def test_a_project_has_fifty_mutants_each_of_which_differs_in_one_line(project: mutants.Project) -> None:
    source = (mutants.HERE / project.name / f"{project.source}.txt").read_text(encoding="utf-8")
    found = mutants.mutants(source, 50)
    assert len(found) == len({text for _, text in found}) == 50
    assert found == mutants.mutants(source, 50)
    for said, text in found:
        changed = [
            number
            for number, (one, other) in enumerate(zip(source.split("\n"), text.split("\n"), strict=True), 1)
            if one != other
        ]
        assert said.startswith(f"line {changed[0]}: ") and len(changed) == 1


def test_a_cycle_counts_what_is_read_and_names_what_fails(place: Path, jobs: Jobs) -> None:
    outlive = mutants.Outlive(place, SHELL)
    source = (outlive.work / SHELL.source).read_text(encoding="utf-8")
    assert outlive.cycle("none", source).failed == []
    cycle = outlive.cycle("an error", source.replace("* 3600", "* 3601"))
    assert cycle.failed == ["seconds of hours"]
    assert cycle.hidden == ([], [], [])
    assert all(100 < chars < 3_000 for chars in cycle.chars)
    jobs.end()
