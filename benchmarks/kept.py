"""Check what a server keeps: of much output, and of a job whose server was killed.

Every server is asked in its own way.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.bench import Bench
from benchmarks.client import Refused
from benchmarks.peers import OURS, Peer

_SLEEPS_S = 300
_CODE = 123


def compare(bench: Bench) -> list[dict[str, Any]]:
    """Return one entry a server: name, lines, lines_kept, exit_code (is that of a command told?),
    known and runs_on (both None if it starts nothing in the background).
    """
    return [_of(bench, peer) for peer in (OURS, *peers.installed(bench))]


def _of(bench: Bench, peer: Peer) -> dict[str, Any]:
    lines = bench.size(3_000_000, 20_000)
    with peer.connected(bench) as client:
        try:
            kept = peer.lines_kept(client, f"seq {lines}")
        except (Refused, TimeoutError, KeyError):
            kept = 0
    told = {"lines": lines, "lines_kept": kept, "exit_code": _tells_the_exit_code(bench, peer)}
    return {"name": peer.name, **told, **_after_a_kill(bench, peer)}


def _tells_the_exit_code(bench: Bench, peer: Peer) -> bool:
    """Return whether the server tells with which code a command ended. No word of the command is
    that number."""
    script = bench.work / "ends"
    script.write_text(f"exit {_CODE}\n", encoding="utf-8")
    with peer.connected(bench) as client:
        try:
            told = str((peer.told or peer.finish)(client, f"sh {script}"))
        except Refused as error:
            told = str(error)
    return re.search(rf"\b{_CODE}\b", told) is not None


def _after_a_kill(bench: Bench, peer: Peer) -> dict[str, Any]:
    """Kill the process group of a server whose job runs, then ask a new server for the job."""
    if peer.start is None or peer.knows is None:
        return {"known": None, "runs_on": None}
    # A number of seconds that no other sleep(1) of this machine has
    command = f"sleep {_SLEEPS_S}.{os.getpid()}"
    with peer.connected(bench, keep=True) as client:
        job = peer.start(client, command)
        if not peer.knows(client, job):
            raise RuntimeError(f"{peer.name} does not know the job that it has just started")
        deadline = time.monotonic() + 10
        while not _processes(command) and time.monotonic() < deadline:
            time.sleep(0.01)
        client.kill()
    time.sleep(1)
    runs_on = bool(_processes(command))
    with peer.connected(bench) as client:
        known = peer.knows(client, job)
    for pid in _processes(command):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return {"known": known, "runs_on": runs_on}


def _processes(command: str) -> list[int]:
    """Return the pids of the sleep(1) of a command, with any parent."""
    wanted = command.replace(" ", "\0").encode() + b"\0"
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if entry.read_bytes() == wanted:
                found.append(int(entry.parent.name))
    return found
