"""Measure how cost grows with the jobs of a root, the output of a job, and clients that start at
once: three sizes each.
"""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.bench import TRUE, Bench
from benchmarks.client import Client
from benchmarks.rows.many import populate
from benchmarks.rows.output import LINE, printer
from benchmarks.rows.starts import python_ms
from benchmarks.samples import Work, interleaved, taken_ms

_CALLS = 20  # of each client


def compare(bench: Bench) -> list[dict[str, Any]]:
    """Return one entry a size: grows, size, and `figures`, name with unit → number."""
    return [*_with_jobs(bench), *_with_output(bench), *_with_clients(bench)]


def _entry(grows: str, size: int, figures: dict[str, float]) -> dict[str, Any]:
    return {"grows": grows, "size": size, "figures": {name: round(value, 3) for name, value in figures.items()}}


def _with_jobs(bench: Bench) -> list[dict[str, Any]]:
    root = bench.place / "many"
    found = []
    for count in (bench.size(1_000, 10), bench.size(10_000, 20), bench.size(100_000, 40)):
        populate(bench, root, count)
        job = str(bench.outlive("run", "--", "true", root=root)["job_id"])
        figures = _over_python(bench, root, job)
        with bench.server(root=root) as client:
            took = [taken_ms(lambda: client.call("exec", command=TRUE)) for _ in range(bench.rounds(40))]
        found.append(_entry("jobs in the root", count, {**figures, "MCP `exec`, ms": statistics.median(took)}))
    return found


def _over_python(bench: Bench, root: Path, job: str) -> dict[str, float]:
    """Return calls of the command line as multiples of a bare Python."""
    works: dict[str, Work] = {
        "`list --all`, × python": lambda: taken_ms(lambda: bench.outlive("list", "--all", root=root)),
        "`status`, × python": lambda: taken_ms(lambda: bench.outlive("status", job, root=root)),
        "`run -- true`, × python": lambda: taken_ms(lambda: bench.outlive("run", "--", "true", root=root)),
    }
    taken = interleaved({**works, "python": python_ms}, bench.rounds(15))
    python = taken.pop("python").median
    return {name: samples.median / python for name, samples in taken.items()}


def _with_output(bench: Bench) -> list[dict[str, Any]]:
    found = []
    with bench.server() as client:
        for size in (bench.size(10**7, 10**6), bench.size(10**8, 2 * 10**6), bench.size(10**9, 4 * 10**6)):
            bench.need(size // 10**6)
            words = printer(bench, size)
            job = str(bench.outlive("run", "--wait", "--max-bytes", "100", "--", *words)["job_id"])
            middle = size // len(LINE) // 2
            asked: dict[str, dict[str, object]] = {
                "`poll` from the middle, ms": {"action": "poll", "since_seq": size // 2},
                "`log` of lines in the middle, ms": {"action": "log", "offset": middle, "limit": 200},
                "`tail`, ms": {"action": "tail"},
            }
            first = taken_ms(lambda: client.call("process", job_id=job, **asked["`log` of lines in the middle, ms"]))  # noqa: B023
            works: dict[str, Work] = {
                name: lambda one=one: taken_ms(lambda: client.call("process", job_id=job, **one))  # noqa: B023
                for name, one in asked.items()
            }
            taken = interleaved(works, bench.rounds(30))
            figures = {name: samples.median for name, samples in taken.items()}
            found.append(_entry("bytes of output", size, {"first `log` by line, ms": first, **figures}))
            bench.outlive("remove", job)
    return found


def _with_clients(bench: Bench) -> list[dict[str, Any]]:
    found = []
    for count in (1, bench.size(4, 2), bench.size(16, 3)):
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(bench.server()) for _ in range(count)]
            took, seconds = _all_at_once(clients, bench.rounds(_CALLS))
        figures = {"`exec` of `true`, ms (median)": statistics.median(took), "jobs a second": len(took) / seconds}
        found.append(_entry("clients, a server each", count, figures))
    return found


def _all_at_once(clients: list[Client], calls: int) -> tuple[list[float], float]:
    """Let all clients call at once, each one call after the other.

    Return the time of each call, and of all.
    """
    took: list[float] = []

    def call_in_turn(client: Client) -> None:
        took.extend(taken_ms(lambda: client.call("exec", command=TRUE)) for _ in range(calls))

    threads = [threading.Thread(target=call_in_turn, args=(client,)) for client in clients]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took, time.perf_counter() - began
