"""The processes of this user that are ours, by what /proc shows of them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress

from outlive.core.record import Value
from outlive.system import fds, process

_SERVERS = (b"mcp", b"serve")
_GLOBALS_WITH_VALUE = (b"--root", b"--config")


class Server(Value):
    pid: int
    words: list[bytes]  # of its command line
    since: float  # seconds since the epoch


def servers() -> Iterator[Server]:
    for pid in own_pids():
        words = fds.content(f"/proc/{pid}/cmdline").split(b"\0")[:-1]
        started = process.start_time(pid)
        if started is not None and is_server(words):
            yield Server(pid, words, wall_clock(started))


def is_server(words: list[bytes]) -> bool:
    """Return whether this is `PYTHON …/outlive … mcp` or `PYTHON -m outlive … mcp`; the same for
    `serve`.
    """
    names = [os.path.basename(word) for word in words[:4]]
    if b"outlive" not in names:
        return False
    rest = iter(words[names.index(b"outlive") + 1 :])
    for word in rest:
        if word in _GLOBALS_WITH_VALUE:
            next(rest, None)
        elif not word.startswith(b"-"):
            return word in _SERVERS
    return False


def own_pids() -> list[int]:
    return [pid for pid, uid in users().items() if uid == os.geteuid()]


def users() -> dict[int, int]:
    """Return the user of each process."""
    users = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):  # it has ended
            users[int(name)] = os.stat(f"/proc/{name}").st_uid
    return users


def wall_clock(started: int) -> float:
    """Turn a start time (clock ticks since the boot) into seconds since the epoch."""
    age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")
    return time.time() - age_s
