"""Measure many jobs that wait in a queue: ten clients that start twenty test suites at once."""

from __future__ import annotations

import os
import shlex
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.client import Client
from benchmarks.rows import row
from benchmarks.samples import Found, Samples

_CLIENTS, _EACH, _SLOTS = 10, 2, 2
_CPU_S, _QUICK_CPU_S = 1.0, 0.05  # of each of the two processes of a suite, which run one after the other
_WORK = "import time\nwhile time.process_time() < {}: pass"
_LOOK_S = 0.25


@row(
    "queue-suites",
    "20 suites of 10 clients through a queue of 2 slots (each 2 s of processor in two processes, one after the other)",
    unit="s",
    floor="`xargs -P 2`",
    ratio=1.1,
)
def suites(bench: Bench) -> Found:
    """The load is how many processes of suites, supervisors and servers run or wait for a core, on average."""
    config = Path(bench.env["HOME"]) / ".config/outlive/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"[queue.suites]\nslots = {_SLOTS}\n", encoding="utf-8")
    part = shlex.join([sys.executable, "-I", "-S", "-c", _WORK.format(_QUICK_CPU_S if bench.quick else _CPU_S)])
    (bench.work / "suite.sh").write_text(f"{part} && {part}\n", encoding="utf-8")
    took: dict[str, list[float]] = {"ours": [], "floor": []}
    loads: dict[str, list[float]] = {"ours": [], "floor": []}
    pauses: list[float] = []
    with ExitStack() as stack:
        clients = [stack.enter_context(bench.server()) for _ in range(_CLIENTS)]
        for turn in range(bench.rounds(3, quick=1)):
            for name in ("ours", "floor") if turn % 2 == 0 else ("floor", "ours"):
                with _load(bench, loads[name]):
                    began = time.perf_counter()
                    jobs = _through_queue(bench, clients) if name == "ours" else _by_hand(bench)
                    took[name].append(time.perf_counter() - began)
                pauses += _pauses(bench, jobs)
    cores = len(os.sched_getaffinity(0))
    found = Found(Samples(tuple(took["ours"])), Samples(tuple(took["floor"])))
    found.notes = {
        "load of a core": statistics.mean(loads["ours"]) / cores,
        "load of a core by hand": statistics.mean(loads["floor"]) / cores,
        "a slot is free between two suites, ms": statistics.median(pauses),
    }
    return found


def _through_queue(bench: Bench, clients: list[Client]) -> list[str]:
    asked = [
        (client, client.begin_call("exec", command="sh suite.sh", background=True, queue="suites"))
        for _ in range(_EACH)
        for client in clients
    ]
    jobs = [str(client.answer(number)["structuredContent"]["job_id"]) for client, number in asked]
    ended = bench.outlive("wait", *jobs, "--mode", "all")
    wrong = [one for one in ended["jobs"] if one.get("exit_code") != 0]
    if wrong:
        raise RuntimeError(f"{len(wrong)} suites did not end well: {wrong[0]}")
    return jobs


def _pauses(bench: Bench, jobs: list[str]) -> list[float]:
    """Return for how long a slot was free, in ms, before each suite but the first ones."""
    states = [bench.state(job) for job in jobs]
    starts, ends = (
        sorted(datetime.fromisoformat(state[at]) for state in states) for at in ("started_at", "finished_at")
    )
    return [(start - end).total_seconds() * 1000 for start, end in zip(starts[_SLOTS:], ends, strict=False)]


def _by_hand(bench: Bench) -> list[str]:
    # A session for each suite, as each job has one: the kernel shares out busy cores by sessions (autogroup, sched(7)). The
    # number is an argument of the suite, which it does not use
    bench.run(["sh", "-c", f"seq {_CLIENTS * _EACH} | xargs -n 1 -P {_SLOTS} setsid -w sh suite.sh"])
    return []


@contextmanager
def _load(bench: Bench, found: list[float]) -> Iterator[None]:
    """Add to `found`, four times a second, how many processes of this benchmark run or wait for a core."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(_LOOK_S if not bench.quick else _LOOK_S / 10):
            found.append(float(sum(_runs(bench, pid) for pid in os.listdir("/proc") if pid.isdigit())))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _runs(bench: Bench, pid: str) -> bool:
    with suppress(OSError):
        name, _, rest = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")
        if rest.split()[0] == "R":
            is_ours = any(one in name for one in ("outrunner", "holdfast", "jobforker"))
            return is_ours or os.readlink(f"/proc/{pid}/cwd") == str(bench.work)
    return False
