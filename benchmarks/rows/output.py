"""Measure much output: to store it, to search it while it arrives, to read it from any position."""

from __future__ import annotations

import os
import random
import re
import sys
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.causes import __main__ as causes
from benchmarks.client import Client
from benchmarks.rows import row
from benchmarks.samples import Found, Samples, compared, taken_ms

GIB = 1 << 30
LINE = b"2026-11-21T15:39:06 INFO  request handled path=/api/v1/items status=200 t=0012ms\n"
PRINTER = """
import os, sys
block = {line!r} * ({block} // {length})
left = int(sys.argv[1])
while left > 0:
    piece = memoryview(block)[:left]
    left -= len(piece)
    while piece:
        piece = piece[os.write(1, piece):]
"""
NOTHING = "(?i)error|failed|panic"


def printer(bench: Bench, size: int) -> list[str]:
    """Return the argv of a program that prints 80-column lines, 1 MiB a write."""
    script = bench.place / "printer.py"
    script.write_text(PRINTER.format(line=LINE, block=1 << 20, length=len(LINE)), encoding="utf-8")
    return [sys.executable, "-I", "-S", str(script), str(size)]


def stored_ms(bench: Bench, size: int, *flags: str, words: list[str] | None = None) -> float:
    """Print through a job: from the start of `outlive run` to its answer. `words`: the command.

    The job is checked and deleted.
    """
    words = words or printer(bench, size)
    answers: list[dict[str, object]] = []

    def run() -> None:
        answers.append(bench.outlive("run", "--wait", "--max-bytes", "100", *flags, "--", *words))

    took = taken_ms(run)
    job = str(answers[0]["job_id"])
    kept = (bench.root / job / "stdout.log").stat().st_size
    assert kept == size, f"{kept} of {size} bytes were stored"
    bench.outlive("remove", job)
    return took


def redirected_ms(bench: Bench, size: int, words: list[str], through: str = "") -> float:
    """Print the same bytes into a file (`>`), with `through` behind a pipe."""
    target = bench.place / "redirected"
    took = taken_ms(lambda: bench.run(["sh", "-c", f'"$@" {through} > {target}', "sh", *words]))
    assert target.stat().st_size == size
    target.unlink()
    return took


def grepped_ms(bench: Bench, size: int) -> float:
    """Print the same bytes through a pipe into `grep -c`."""
    words = ["sh", "-c", f"\"$@\" | grep -c -i -E '{NOTHING[4:]}' || true", "sh", *printer(bench, size)]
    return taken_ms(lambda: bench.run(words))


@row("store-gib", "`cat` of 1 GiB through a job, stored completely", floor="`cat FILE | cat > FILE`", ratio=1.3)
def store(bench: Bench) -> Found:
    """Measure against the least that a pipe into a file costs: both sides read the same file out of
    the page cache and leave a new one on the same file system. A redirection, which has neither an
    order of two streams nor a quota, is a note; so is what a run costs before it prints."""
    size = bench.size(GIB, 8 << 20)
    bench.need(3 * size // 10**6)
    source = bench.place / "source"
    with source.open("wb") as file:
        for _ in range(size >> 20):
            file.write((LINE * ((1 << 20) // len(LINE) + 1))[: 1 << 20])
    os.sync()
    words = ["cat", str(source)]
    works = {
        "ours": lambda: stored_ms(bench, size, words=words),
        "floor": lambda: redirected_ms(bench, size, words, "| cat"),
        "redirection": lambda: redirected_ms(bench, size, words),
        "nothing": lambda: stored_ms(bench, 0, words=["true"]),
    }
    found = compared(works, bench.rounds(9, quick=1))
    found.notes = {
        "a redirection, ms": found.peers.pop("redirection").median,
        "a run that prints nothing, ms": found.peers.pop("nothing").median,
    }
    return found


@row("watch-gib", "1 GiB of 80-column lines with a watch, no hit", floor="`… | grep -c PATTERN`", ratio=3)
def watch(bench: Bench) -> Found:
    return _watched(bench, ["--watch", NOTHING])


@row("watch-16", "1 GiB with sixteen watches, no hit", floor="`… | grep -c PATTERN`")
def watch_sixteen(bench: Bench) -> Found:
    return _watched(bench, [word for one in range(16) for word in ("--watch", rf"^Ready in {one} \d+")])


@row("watch-hits", "1 GiB with a watch that every line hits", floor="`… | grep -c PATTERN`")
def watch_hits(bench: Bench) -> Found:
    return _watched(bench, ["--watch", "status=200"])


def _watched(bench: Bench, flags: list[str]) -> Found:
    size = bench.size(GIB, 4 << 20)
    bench.need(size // 10**6)
    works = {"ours": lambda: stored_ms(bench, size, *flags), "floor": lambda: grepped_ms(bench, size)}
    return compared(works, bench.rounds(3, quick=1))


# --- a large job ----------------------------------------------------------------------------------


def _large_job(bench: Bench) -> tuple[str, int]:
    """Return the id of a job with much output, and its bytes."""
    size = bench.size(5 * 10**9, 20 * 10**6)
    bench.need(size // 10**6)
    words = printer(bench, size)
    return str(bench.outlive("run", "--wait", "--max-bytes", "100", "--", *words)["job_id"]), size


def peak_kb(pid: int) -> int:
    """Return the largest resident set of a process so far."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
    assert found, f"no VmHWM of {pid}"
    return int(found[1])


def _at_cursors(bench: Bench, client: Client, questions: list[dict[str, object]], job: str) -> Found:
    """Measure calls at many positions. The first, which may have to count lines, is a note too."""
    first = taken_ms(lambda: client.structured("process", job_id=job, **questions[0]))
    before = peak_kb(client.process.pid)
    took = [taken_ms(lambda one=one: client.structured("process", job_id=job, **one)) for one in questions]
    grown = peak_kb(client.process.pid) - before
    notes = {"first call, ms": first, "memory grown by all calls, MB": grown / 1024, "slowest, ms": max(took)}
    return Found(Samples(tuple(took)), notes=notes)


@row("poll-5gb", "`poll` at any cursor of a 5 GB job", most=10)
def poll(bench: Bench) -> Found:
    job, size = _large_job(bench)
    places = [random.Random(7).randrange(size) for _ in range(bench.rounds(200))]
    with bench.server() as client:
        return _at_cursors(bench, client, [{"action": "poll", "since_seq": one} for one in places], job)


@row("log-5gb", "`log` at any line of a 5 GB job", most=10)
def log(bench: Bench) -> Found:
    job, size = _large_job(bench)
    places = [random.Random(7).randrange(size // len(LINE)) for _ in range(bench.rounds(200))]
    with bench.server() as client:
        found = _at_cursors(bench, client, [{"action": "log", "offset": one, "limit": 200} for one in places], job)
    found.notes["size of its line index, bytes"] = os.stat(bench.root / job / "lines").st_size
    return found


@row("failed-1gb", "the answer about a job that failed behind 1 GB of logs of CI, its failures chosen", most=1_500)
def failed(bench: Bench) -> Found:
    size = bench.size(10**9, 20 * 10**6)
    bench.need(size // 10**6)
    text = max((log.text for log in causes.logs("v2-stress")), key=len)
    (bench.place / "log").write_bytes(text)
    command = f"for one in $(seq {size // len(text)}); do cat {bench.place}/log; done; exit 1"
    job = str(bench.outlive("run", "--wait", "--max-bytes", "100", "--", "sh", "-c", command)["job_id"])
    with bench.server() as client:
        question: dict[str, object] = {"action": "poll", "since_seq": 0}
        return _at_cursors(bench, client, [question] * bench.rounds(50), job)
