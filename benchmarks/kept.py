"""What is left: of much output, and of a job whose server was killed. Asked of every server in its own way, never assumed."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.bench import Bench
from benchmarks.line import Refused
from benchmarks.peers import OURS, Peer

_SLEEPS_S = 300


def compare(bench: Bench) -> list[dict[str, Any]]:
    """One entry a server: name, lines, lines_kept, known and runs_on (both None if it starts nothing in the background)."""
    return [_of(bench, peer) for peer in (OURS, *peers.installed(bench))]


def _of(bench: Bench, peer: Peer) -> dict[str, Any]:
    lines = bench.size(3_000_000, 20_000)
    with peer.connected(bench) as line:
        try:
            kept = peer.lines_kept(line, f"seq {lines}")
        except (Refused, TimeoutError, KeyError):
            kept = 0
    return {"name": peer.name, "lines": lines, "lines_kept": kept, **_after_a_kill(bench, peer)}


def _after_a_kill(bench: Bench, peer: Peer) -> dict[str, Any]:
    """The server's whole process group is killed under a job that runs; then a new server is asked for the job."""
    if peer.start is None or peer.knows is None:
        return {"known": None, "runs_on": None}
    # As far apart as a number of seconds can be told from every other sleep(1) of this machine
    command = f"sleep {_SLEEPS_S}.{os.getpid()}"
    with peer.connected(bench, keep=True) as line:
        job = peer.start(line, command)
        if not peer.knows(line, job):
            raise RuntimeError(f"{peer.name} does not know the job that it has just started")
        deadline = time.monotonic() + 10
        while not _processes(command) and time.monotonic() < deadline:
            time.sleep(0.01)
        line.kill()
    time.sleep(1)
    runs_on = bool(_processes(command))
    with peer.connected(bench) as line:
        known = peer.knows(line, job)
    for pid in _processes(command):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return {"known": known, "runs_on": runs_on}


def _processes(command: str) -> list[int]:
    """The sleep(1) of a command, whoever is its parent."""
    wanted = command.replace(" ", "\0").encode() + b"\0"
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if entry.read_bytes() == wanted:
                found.append(int(entry.parent.name))
    return found
