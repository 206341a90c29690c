"""Compare this checkout with another one, in one run: each figure is measured in turn, new and old.

What else the machine does meets both sides, so the ratio says more than the milliseconds. Each side
has a home, a job root and an environment (`.venv`) of its own.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench, installed, spread
from benchmarks.rows import many, server, starts, waiting
from benchmarks.samples import Samples, Work, interleaved

NEW, OLD = "new", "old"
MOST = 1.03  # a higher ratio of the medians counts as slower (or larger)
HEADER = ("row", "old", "new", "new/old", "half between", "slower")


@contextlib.contextmanager
def _exec(bench: Bench) -> Iterator[Work]:
    with bench.server() as client:
        yield starts.paused(starts.exec_once(client))


@contextlib.contextmanager
def _background(bench: Bench) -> Iterator[Work]:
    with bench.server() as client:
        yield starts.paused(starts.background_once(bench, client))


@contextlib.contextmanager
def _sandbox(bench: Bench) -> Iterator[Work]:
    with bench.server() as client:
        yield starts.sandbox_start_once(bench, client)


@contextlib.contextmanager
def _burst(bench: Bench) -> Iterator[Work]:
    with bench.server() as client:
        yield many.burst_once(bench, client)


@contextlib.contextmanager
def _list(bench: Bench) -> Iterator[Work]:
    root = bench.place / "many"
    many.populate(bench, root, bench.size(10_000, 60))
    yield many.list_once(bench, root)


def _plain(work: Callable[[Bench], Work]) -> Callable[[Bench], contextlib.AbstractContextManager[Work]]:
    return lambda bench: contextlib.nullcontext(work(bench))


def _median(found: Callable[[Bench], Any]) -> Callable[[Bench], contextlib.AbstractContextManager[Work]]:
    """Make a work of a whole row."""
    return lambda bench: contextlib.nullcontext(lambda: float(found(bench).ours.median))


# Name → (what is measured, unit, rounds, how one side measures it once)
COMPARED: dict[str, tuple[str, str, int, Callable[[Bench], contextlib.AbstractContextManager[Work]]]] = {
    "exec": ("MCP `exec` of `sh -c true`, warm", "ms", 150, _exec),
    "background": ("MCP background start", "ms", 150, _background),
    "sandbox-start": ("what a sandbox adds to that in 1,000 directories", "ms", 80, _sandbox),
    "cli-run": ("`outlive run -- true`", "ms", 80, _plain(starts.cli_run_once)),
    "cli-status": ("`outlive status JOB`", "ms", 80, _plain(starts.cli_status_once)),
    "list-10000": ("`outlive list --all`, 10,000 jobs", "ms", 60, _list),
    "burst": ("200 background starts at once", "ms", 11, _burst),
    "server-start": ("a server, to the answer of `tools/list`", "ms", 25, _plain(server.start_once)),
    "first-call": ("the first call of a server", "ms", 15, _plain(server.first_call_once)),
    "call": ("MCP `process list` of nothing", "ms", 200, server.call_once),
    "idle-server": ("wake-ups of an idle server with a job, 10 s", "wake-ups", 2, _median(waiting.idle_server)),
    "memory-server": ("memory of a job started by a server", "MB", 2, _median(many.memory_from_a_server)),
    "memory-cli": ("memory of a job started by the CLI", "MB", 2, _median(many.memory_from_the_cli)),
}


def command_of(checkout: Path) -> list[str]:
    """Return the command of another checkout. Errors: FileNotFoundError."""
    python = checkout / ".venv" / "bin" / "python"
    if not python.is_file():
        raise FileNotFoundError(f"{python} does not exist: install that checkout into its own .venv first")
    return installed(str(python))


def compare(names: list[str], bench: Callable[..., Bench], other: list[str]) -> list[dict[str, Any]]:
    """Measure these rows on both sides.

    `bench` makes the surroundings for a command, without one for this checkout.
    """
    entries = []
    for name in names:
        print(f"{name} …", end=" ", file=sys.stderr, flush=True)
        entries.append(_compared(name, bench(), bench(other)))
        print(_cells(entries[-1])[3], file=sys.stderr)
    return entries


def _compared(name: str, new: Bench, old: Bench) -> dict[str, Any]:
    title, unit, rounds, side = COMPARED[name]
    with tempfile.TemporaryDirectory(prefix="outlive-benchmarks-") as top, contextlib.ExitStack() as stack:
        # Both sides in one part of the disk: among inodes that were deleted lately one side would
        # take 1.2 times as long as the other, by chance
        spread(Path(top))
        new.beside = old.beside = Path(top, "both")
        new.beside.mkdir()
        works = {key: stack.enter_context(side(stack.enter_context(one))) for key, one in ((NEW, new), (OLD, old))}
        found = interleaved(works, new.rounds(rounds))
    return {"name": name, "title": title, "unit": unit, **_figures(found[NEW], found[OLD])}


def _figures(new: Samples, old: Samples) -> dict[str, Any]:
    ratios = Samples(tuple(_ratio(*pair) for pair in zip(new.values, old.values, strict=True)))
    ratio = _ratio(new.median, old.median)
    low, high = ratios.spread
    return {
        "new": new.to_dict(),
        "old": old.to_dict(),
        "ratio": round(ratio, 4),
        "ratio_of_pairs": {"median": round(statistics.median(ratios.values), 4), "low": low, "high": high},
        "slower": ratio > MOST,
    }


def _ratio(new: float, old: float) -> float:
    """Return new/old; 1 where both are nothing."""
    if old:
        return new / old
    return 1.0 if not new else float(sys.maxsize)


def lines(entries: list[dict[str, Any]]) -> list[str]:
    """Return the table for a terminal, and the verdict."""
    rows = [HEADER, *map(_cells, entries)]
    wide = [max(len(cells[column]) for cells in rows) for column in range(len(HEADER))]
    found = ["  ".join(cell.ljust(width) for cell, width in zip(cells, wide, strict=True)).rstrip() for cells in rows]
    slower = [one["name"] for one in entries if one["slower"]]
    return [*found, f"slower by more than 3 %: {', '.join(slower) or 'nothing'}"]


def _cells(one: dict[str, Any]) -> tuple[str, ...]:
    pairs = one["ratio_of_pairs"]
    return (
        one["name"],
        f"{one['old']['median']:.4g} {one['unit']}",
        f"{one['new']['median']:.4g} {one['unit']}",
        f"{one['ratio']:.3f}",
        f"{pairs['low']:.3f} … {pairs['high']:.3f}",
        "yes" if one["slower"] else "no",
    )
