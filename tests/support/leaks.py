"""What a test may not leave behind: processes, zombies, open files."""

from __future__ import annotations

import gc
import os
import sys
import time
from pathlib import Path

from support import preloaded, processes

# Ending is asynchronous (a supervisor still writes, a server still closes): how long that may take before it is a leak.
SETTLE_S = 15
_CODE = "/memfd:outlive (deleted)"  # what a server in this process keeps for good: our code (system/code_archive.py)


_STARTS = frozenset(
    {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "pty.spawn", "os.system"}
)
_started = 0


def _count_starts(event: str, _: object) -> None:
    global _started
    if event in _STARTS:
        _started += 1


# Most tests start nothing, and then there is no need to look at every process of the machine after each of them.
sys.addaudithook(_count_starts)


class Before:
    """What was there when the test began; `shared`: its place is that of a server, which may start what it is told to."""

    def __init__(self, *, shared: bool = False) -> None:
        self.started = -1 if shared else _started
        self.running = frozenset(processes.all_pids())  # none of these is the test's: no need to look into each of them
        self.children = set(processes.children())
        self.files = open_files()


def found(before: Before, place: Path, *, jobs_may_live: bool = False, settle_s: float = SETTLE_S) -> list[str]:
    """What is left, a line each. Leftover processes of `place` are ended in any case."""
    left: dict[int, str] = {}
    if _started != before.started:
        still = before.running
        left = processes.of(place, still) if jobs_may_live else processes.wait_gone(place, settle_s, still)
    lines = []
    if left:
        ended = dict(left) | processes.end_all(place, but=before.running)
        lines += [f"could not be ended: {what}" for what in processes.of(place, before.running).values()]
        if not jobs_may_live:
            lines += [f"still running: {what}" for what in ended.values()]
    children, files = _new_children(before), open_files() - before.files
    if children or files:
        gc.collect()  # a Popen or a socket in a cycle is closed by its finalizer; what stays open after it is held
        until = time.monotonic() + settle_s
        while (
            files := open_files() - before.files
        ) and time.monotonic() < until:  # a watch of a file is closed by a thread
            time.sleep(0.005)
        children = _new_children(before)
    lines += [f"child {pid} {_what(state)}" for pid, state in children.items()]
    lines += [f"fd {fd} left open: {target}" for fd, target in sorted(files)]
    return lines


def open_files() -> set[tuple[int, str]]:
    """(fd, what it is) of this process. The descriptor that does the listing is not among them."""
    files: set[tuple[int, str]] = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            files.add((int(name), os.readlink(f"/proc/self/fd/{name}")))
        except OSError:  # the listing's own
            continue
    return {(fd, target) for fd, target in files if fd not in preloaded.files() and target != _CODE}


def _new_children(before: Before) -> dict[int, str]:
    return {pid: state for pid, state in processes.children().items() if pid not in before.children}


def _what(state: str) -> str:
    return "is a zombie: the test did not wait for it" if state == "Z" else f"still lives (state {state})"
