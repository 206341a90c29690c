"""The process of the client, as the servers and hooks that it starts see it."""

from __future__ import annotations

import os

from outlive.system import process, tree

Host = tuple[int, int]  # its pid, and its start in clock ticks after boot

# A client starts its commands by one of them. Most replace themselves by the command, but not all
_BETWEEN = (b"sh", b"bash", b"dash", b"zsh", b"fish", b"ksh", b"uv", b"uvx")
_MOST = 6


def own() -> Host | None:
    """Return the nearest process above this one that is no shell: the client that started it."""
    pid: int | None = os.getppid()
    for _ in range(_MOST):
        if not pid or not (name := tree.comm(pid)):
            return None
        if name not in _BETWEEN:
            start = process.start_time(pid)
            return None if start is None else (pid, start)
        pid = process.parent(pid)
    return None


def is_there(host: Host) -> bool:
    """Return whether this process still exists."""
    return process.is_alive(host[0]) and process.start_time(host[0]) == host[1]
