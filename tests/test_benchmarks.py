"""The benchmarks run and give numbers. Which numbers, no test says: it would be a test of the machine."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support import slurm
from support.cli import environment

CHECKOUT = Path(__file__).parent.parent
sys.path.insert(0, str(CHECKOUT))  # benchmarks are no part of the package

from benchmarks import against, page, table  # noqa: E402
from benchmarks.rows import ROWS  # noqa: E402
from benchmarks.samples import Found, Samples, interleaved  # noqa: E402
from benchmarks.sandbox_attempts import ATTEMPTS  # noqa: E402


def numbers(found: Any) -> Iterator[float]:
    if isinstance(found, dict):
        for value in found.values():
            yield from numbers(value)
    elif isinstance(found, (int, float)) and not isinstance(found, bool):
        yield found


def benchmarks(place: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], Any]:
    """One run without peers, and its JSON."""
    (place / "tmp").mkdir(exist_ok=True)
    found_in = place / "found.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--json", str(found_in), "--peers", str(place / "none"), *words],
        cwd=CHECKOUT,
        env=environment({"TMPDIR": str(place / "tmp")}),
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    return done, json.loads(found_in.read_bytes()) if found_in.exists() else None


def rooms() -> dict[str, list[str]]:
    """The names of the rows by the module that declares them."""
    found: dict[str, list[str]] = {}
    for row in ROWS.values():
        found.setdefault(row.measure.__module__.rpartition(".")[2], []).append(row.name)
    return found


@pytest.mark.parametrize("room", rooms())
@pytest.mark.slow
def test_every_row_gives_finite_numbers_and_leaves_nothing(room: str, place: Path) -> None:
    if room.startswith("ssh") and not (shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/sbin")):
        pytest.skip("no sshd here")
    why = slurm.missing() if room == "slurm" else None
    if why is not None:
        pytest.skip(why)
    names = rooms()[room]
    with slurm.only_one() if room == "slurm" else contextlib.nullcontext():
        done, found = benchmarks(place, "--quick", "--rows", ",".join(names))
    if room == "ssh_link" and "left out: " in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    assert [row["name"] for row in found["rows"]] == names
    assert found["quick"]
    for row in found["rows"]:
        assert row["ours"]["count"] >= 1
        assert list(numbers(row))
        assert all(math.isfinite(value) and value >= 0 for value in numbers(row)), row
        assert (row["floor"] is not None) == (ROWS[row["name"]].floor is not None)
        assert row["name"] in done.stdout
    assert not list((place / "tmp").iterdir())


@pytest.mark.slow
def test_what_is_left_after_a_kill_is_asked_of_a_new_server(place: Path) -> None:
    done, found = benchmarks(place, "--quick", "--rows", "kept")
    assert done.returncode == 0, done.stdout + done.stderr
    (ours,) = found["kept"]
    assert ours["name"] == "outlive"
    assert ours["lines_kept"] == ours["lines"]
    assert (ours["known"], ours["runs_on"], ours["exit_code"]) == (True, True, True)
    assert not list((place / "tmp").iterdir())


@pytest.mark.slow
def test_growth_has_three_sizes_of_each(place: Path) -> None:
    done, found = benchmarks(place, "--quick", "--rows", "growth")
    assert done.returncode == 0, done.stdout + done.stderr
    sizes: dict[str, list[int]] = {}
    for one in found["growth"]:
        sizes.setdefault(one["grows"], []).append(one["size"])
        assert all(math.isfinite(value) and value > 0 for value in one["figures"].values())
    assert [len(found) for found in sizes.values()] == [3, 3, 3]
    assert all(found == sorted(set(found)) for found in sizes.values())


def test_a_page_keeps_what_a_run_leaves_out(tmp_path: Path) -> None:
    where = tmp_path / "performance.md"
    where.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n", encoding="utf-8")
    row = ROWS["cli-run"]
    entries = [
        table.entry(row, Found(Samples((value,)), Samples((10.0,))), "2026-11-21") for row, value in ((row, 33.0),)
    ]
    kept = [{"name": "outlive", "lines": 5, "lines_kept": 5, "exit_code": True, "known": True, "runs_on": True}]
    grown = [{"grows": "jobs", "size": 1_000, "figures": {"ms": 2.5}}]
    run = {"machine": "two cores", "quick": False, "rows": entries, "kept": kept, "growth": grown}
    page.write(run, where)
    other = table.entry(ROWS["list-10000"], Found(Samples((20.0,)), Samples((10.0,))), "2026-11-22")
    page.write({**run, "rows": [other], "kept": [], "growth": []}, where)
    text = where.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    for words in ("3.30 ×", "2.00 ×", "5 of 5", "| 1,000 | 2.5 |", "2026-11-21 to 2026-11-22"):
        assert words in text
    assert "old" not in text


def test_a_row_that_is_not_there_is_named(place: Path) -> None:
    done, _ = benchmarks(place, "--rows", "nonsense")
    assert done.returncode == 2
    assert "nonsense" in done.stderr


@pytest.mark.slow
def test_two_checkouts_are_measured_in_one_run(place: Path) -> None:
    other = place / "other" / ".venv" / "bin" / "python"
    other.parent.mkdir(parents=True)
    other.write_text(f'#!/bin/sh\necho "$@" >> {place}/called\nexec {sys.executable} "$@"\n')
    other.chmod(0o755)
    names = list(against.COMPARED)
    done, found = benchmarks(place, "--quick", "--against", str(place / "other"), "--rows", ",".join(names))
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert [one["name"] for one in found["against"]] == names
    for one in found["against"]:
        assert one["ratio"] > 0
        assert one["new"]["count"] == one["old"]["count"] >= 1
    assert (done.returncode == 1) == any(one["slower"] for one in found["against"])
    assert "mcp" in (place / "called").read_text()
    assert not list((place / "tmp").iterdir())


def test_a_checkout_that_is_not_installed_is_named(place: Path) -> None:
    done, _ = benchmarks(place, "--against", str(place / "nothing"))
    assert done.returncode == 2
    assert str(place / "nothing") in done.stderr
    assert "Traceback" not in done.stderr


def test_a_checkout_is_slower_if_its_median_is_more_than_three_percent_above() -> None:
    old = Samples((10.0, 10.0, 10.0))
    assert against._figures(Samples((10.2, 10.2, 50.0)), old)["slower"] is False
    assert against._figures(Samples((10.4, 10.4, 1.0)), old)["slower"] is True
    assert against._figures(Samples((0.0,)), Samples((0.0,)))["ratio"] == 1
    assert against._figures(Samples((1.0,)), Samples((0.0,)))["slower"] is True


def test_works_are_measured_in_turn_and_the_first_round_does_not_count() -> None:
    order: list[str] = []

    def work(name: str) -> float:
        order.append(name)
        return float(len(order))

    found = interleaved({name: partial(work, name) for name in ("a", "b")}, 3)
    assert order == ["a", "b", "b", "a", "a", "b", "b", "a"]
    assert found["a"].values == (4.0, 5.0, 8.0)


def test_a_goal_among_peers_is_missed_where_one_is_faster() -> None:
    row = ROWS["exec"]
    ours, floor = Samples((3.0,)), Samples((1.0,))
    assert row.is_met(Found(ours, floor, {"slow": Samples((4.0,))}))
    assert not row.is_met(Found(ours, floor, {"slow": Samples((4.0,)), "fast": Samples((2.0,))}))


def test_a_goal_is_missed_where_the_median_says_so() -> None:
    row = ROWS["cli-run"]
    floor = Samples((10.0, 10.0, 10.0))
    slow = table.entry(row, Found(Samples((56.0, 56.0, 10.0)), floor), "2026-11-21")
    fast = table.entry(row, Found(Samples((54.0, 54.0, 900.0)), floor), "2026-11-21")
    assert (slow["met"], fast["met"]) == (False, True)
    assert slow["ratio"] == 5.6


def attempted(*words: str) -> list[list[str]]:
    """The cells of the table of attempts in sandboxes, without those of other tools."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.sandboxes", "--tools", "/nonexistent", *words],
        cwd=CHECKOUT,
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    if "namespace" in done.stderr:
        pytest.skip(f"no sandbox can be set up here: {done.stderr}")
    return [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]


@pytest.mark.parametrize("only", ["netrc", pytest.param("", marks=pytest.mark.slow)])
def test_attempts_to_leave_a_sandbox_are_made_and_held(only: str) -> None:
    rows = attempted("--only", only)
    assert rows[0] == ["attempt", "`outlive`", "Codex", "`srt`"]
    assert len(rows) == 1 + sum(only in attempt.name for attempt in ATTEMPTS)
    words = {attempt.name: attempt.word if attempt.is_stated else "held" for attempt in ATTEMPTS}
    assert [cells[1:] for cells in rows[1:]] == [[words[cells[0]], "not tried", "not tried"] for cells in rows[1:]]


def test_the_table_of_security_has_the_attempts_that_are_made() -> None:
    page_of_security = (CHECKOUT / "docs/explanation/security.md").read_text()
    lines = page_of_security.partition("| attempt | `outlive` |")[2].partition("\n\n")[0].splitlines()[2:]
    shown = [line.strip("| ").split(" | ") for line in lines]
    assert [cells[0] for cells in shown] == [attempt.name for attempt in ATTEMPTS]
    for cells, attempt in zip(shown, ATTEMPTS, strict=True):
        assert cells[1] == (attempt.word if attempt.is_stated else "held")
        assert set(cells[2:]) <= {"held", attempt.word, "not tried", "–"}
