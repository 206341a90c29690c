"""Measure how soon a waiter is told, and what waiting costs."""

from __future__ import annotations

import os
import re
import shlex
import sys
import time
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.rows import row
from benchmarks.samples import Found, Samples

# Both print the time of the write: the clock is the same in every process (CLOCK_MONOTONIC)
_SAY = "import os, time; time.sleep(0.3); os.write(1, b'now %d\\n' % time.monotonic_ns()); time.sleep(60)"
# At any time between two looks of the waiter, which are 50 ms apart
_MAKE = _SAY.replace("0.3", "0.3 + time.monotonic() % 0.05").replace(
    "time.sleep(60)", "open('made', 'w').close(); time.sleep(60)"
)
_END = "import os, time; time.sleep(0.3); os.write(1, b'now %d\\n' % time.monotonic_ns()); os._exit(0)"
_STORED_S = 60  # at most, until the line is in the log


@row("notice-line", "MCP `wait`: from a line's write(2) to the waiter's answer", most=5)
def line_told(bench: Bench) -> Found:
    return _told(bench, _SAY, {"until": [{"regex": "^now"}]})


@row("notice-end", "MCP `wait`: from the command's exit to the waiter's answer", most=5)
def end_told(bench: Bench) -> Found:
    return _told(bench, _END, {})


def _told(bench: Bench, script: str, until: dict[str, object]) -> Found:
    took = []
    command = "exec " + shlex.join([sys.executable, "-I", "-S", "-c", script])
    with bench.server() as client:
        for _ in range(bench.rounds(40)):
            job = client.structured("exec", command=command, yield_ms=0)["job_id"]
            client.call("process", action="wait", job_id=job, timeout_ms=50_000, **until)
            at = time.monotonic_ns()
            took.append((at - _printed(bench, job)) / 1e6)
            client.call("process", action="remove", job_id=job)
    return Found(Samples(tuple(took)))


@row("notice-file", "MCP `wait`: from the creation of a file to the waiter's answer", most=60)
def file_told(bench: Bench) -> Found:
    return _told(bench, _MAKE, {"until": [{"file": str(bench.work / "made")}]})


@row("notice-cli", "`outlive wait --until regex=…`: from the write(2) to its exit")
def line_told_to_a_script(bench: Bench) -> Found:
    took = []
    for _ in range(bench.rounds(20)):
        job = bench.background("--", sys.executable, "-I", "-S", "-c", _SAY.replace("0.3", "1"))
        bench.outlive("wait", job, "--until", "regex=^now")
        at = time.monotonic_ns()
        took.append((at - _printed(bench, job)) / 1e6)
        bench.outlive("remove", job)
    return Found(Samples(tuple(took)))


def _printed(bench: Bench, job: str) -> int:
    """Return when the job wrote its line. A file that it makes then may be seen before the line is stored."""
    deadline = time.monotonic() + _STORED_S
    while not (found := re.search(rb"now (\d+)\n", (bench.root / job / "stdout.log").read_bytes())):
        assert time.monotonic() < deadline, f"job {job} printed nothing"
        time.sleep(0.002)
    return int(found[1])


# --- doing nothing --------------------------------------------------------------------------------


@row("idle-server", "a server, its fork server and a job that sleeps: wake-ups in 10 s", unit="wake-ups", most=0)
def idle_server(bench: Bench) -> Found:
    with bench.server() as client:
        job = client.structured("exec", command="sleep 600", yield_ms=0)["job_id"]
        supervisor = int(bench.state(job)["supervisor"]["pid"])
        guardian = _parent(supervisor)
        pids = [client.process.pid, _parent(guardian), guardian, supervisor]
        return _at_rest(bench, pids)


@row("idle-waiter", "the same with a `wait` under way: wake-ups in 10 s", unit="wake-ups", most=0)
def idle_waiter(bench: Bench) -> Found:
    with bench.server() as client:
        job = client.structured("exec", command="sleep 600", yield_ms=0)["job_id"]
        client.begin_call("process", action="wait", job_id=job, timeout_ms=50_000, until=[{"regex": "never"}])
        return _at_rest(bench, [client.process.pid, int(bench.state(job)["supervisor"]["pid"])])


def _at_rest(bench: Bench, pids: list[int]) -> Found:
    seconds = bench.size(10, 1)
    # what follows a start is over by then: syncs, the spare pair, the login shell
    time.sleep(bench.size(4, 3))
    before = [(_switches(pid), _ticks(pid)) for pid in pids]
    time.sleep(seconds)
    after = [(_switches(pid), _ticks(pid)) for pid in pids]
    wakes = sum(late[0] - early[0] for early, late in zip(before, after, strict=True))
    ticks = sum(late[1] - early[1] for early, late in zip(before, after, strict=True))
    return Found(Samples((float(wakes),)), notes={"CPU, ms": ticks * 1000 / os.sysconf("SC_CLK_TCK")})


def _switches(pid: int) -> int:
    """Return how often the threads of a process went to sleep."""
    texts = [task.read_text(encoding="utf-8") for task in Path(f"/proc/{pid}/task").glob("*/status")]
    return sum(int(number) for text in texts for number in re.findall(r"\nvoluntary_ctxt_switches:\s+(\d+)", text))


def _ticks(pid: int) -> int:
    words = _stat(pid)
    return int(words[11]) + int(words[12])


def _parent(pid: int) -> int:
    return int(_stat(pid)[1])


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
