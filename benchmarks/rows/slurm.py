"""Measure jobs on a Slurm cluster beside sbatch(1) itself. The cluster is that of the tests: two nodes
with namespaces of their own on this machine. Without root or Slurm these rows are left out.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.bench import Bench, NoRoom
from benchmarks.rows import row
from benchmarks.rows.ssh import _CLOCK
from benchmarks.samples import Found, Samples, compared

_TESTS = str(Path(__file__).parents[2] / "tests")
_NOW = "import time; print(time.time_ns())"  # what the command prints when it runs
_LOOK_S = 0.0005


@contextlib.contextmanager
def cluster(bench: Bench) -> Iterator[None]:
    """Start the cluster, and configure it as `cluster`. Errors: NoRoom."""
    sys.path.insert(0, _TESTS)
    try:
        slurm = importlib.import_module("support.slurm")
    finally:
        sys.path.remove(_TESTS)
    why = slurm.missing()
    if why is not None:
        raise NoRoom(f"needs a cluster: {why}")
    config = bench.place / ".config" / "outlive" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[hosts.cluster]\nkind = "slurm"\n', encoding="utf-8")
    place = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))  # the path of a socket must be short
    found = slurm.Cluster(place / "cluster")
    bench.env |= found.env
    try:
        yield
    finally:
        found.close()
        shutil.rmtree(place)
        config.unlink()
        for name in found.env:
            del bench.env[name]


def _lines(path: Path, count: int, taken: Callable[[bytes], None]) -> None:
    """Pass on the next lines of a growing file, each as soon as it is whole."""
    while not path.exists():
        time.sleep(_LOOK_S)
    with path.open("rb") as file:
        while count:
            line = file.readline()
            if line.endswith(b"\n"):
                taken(line)
                count -= 1
            else:
                file.seek(-len(line), os.SEEK_CUR)
                time.sleep(_LOOK_S)


def _sbatch(bench: Bench, *command: str) -> Path:
    """Submit a command without outlive. Return the file of its output."""
    target = bench.place / f"sbatch-{time.monotonic_ns()}"
    script = bench.place / "bare.sh"
    script.write_text('#!/bin/sh\nexec "$@"\n', encoding="utf-8")
    bench.run(["sbatch", "--parsable", "--chdir=/", f"--output={target}", str(script), *command])
    return target


@row("slurm-start", "`run --host` of a Slurm cluster, from the call to the command's first act", floor="`sbatch`")
def start(bench: Bench) -> Found:
    with cluster(bench):
        command = (sys.executable, "-I", "-c", _NOW)

        def ours() -> float:
            began = time.time_ns()
            job = bench.background("--host", "cluster", "--", *command)
            found: list[float] = []
            _lines(bench.root / job / "stdout.log", 1, lambda line: found.append((int(line) - began) / 1e6))
            bench.ended(job)
            bench.outlive("remove", job)
            return found[0]

        def floor() -> float:
            began = time.time_ns()
            found: list[float] = []
            _lines(_sbatch(bench, *command), 1, lambda line: found.append((int(line) - began) / 1e6))
            return found[0]

        return compared({"ours": ours, "floor": floor}, bench.rounds(10))


@row("slurm-lag", "from a line that is printed on a node to the line in the log", floor="`sbatch --output`")
def lag(bench: Bench) -> Found:
    count = bench.rounds(100)
    script = bench.place / "clock.py"
    script.write_text(_CLOCK, encoding="utf-8")
    command = (sys.executable, "-u", str(script), str(count))
    ours: list[float] = []
    floor: list[float] = []
    with cluster(bench):
        job = bench.background("--host", "cluster", "--", *command)
        log = bench.root / job / "stdout.log"
        _lines(log, count, lambda line: ours.append((time.time_ns() - int(line)) / 1e6))
        bench.ended(job)
        bench.outlive("remove", job)
        bare = _sbatch(bench, *command)
        _lines(bare, count, lambda line: floor.append((time.time_ns() - int(line)) / 1e6))
    return Found(Samples(tuple(ours)), Samples(tuple(floor)))
