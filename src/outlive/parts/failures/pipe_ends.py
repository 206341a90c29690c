"""Which process keeps another one waiting at a pipe: the process that has its other end.

/proc/PID/fd and /proc/PID/fdinfo are open to the same user. Which of several pipes a thread waits for is in
/proc/PID/syscall, which is not (Yama); so what is said holds for each pipe that it could be.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from outlive.core.record import Value
from outlive.parts.failures import foreground
from outlive.system import process
from outlive.system.fds import content, listed

_MOST_FDS = 512
_MOST_FDINFO = 4096  # bytes about one open file
_MOST_STEPS = 16


class _End(Value):
    """An open file of a process."""

    link: str  # as in /proc/PID/fd: what it is
    fd: int


def kept_waiting_by(pid: int, members: Sequence[int]) -> list[int]:
    """Return the processes among `members` that keep `pid` waiting at a pipe, each of them the one before.

    A process that waits for room is kept by the process that has the reading end, one that waits for data by the
    process that has the writing end. The last does something else, or stands in the list before it, or is `pid`:
    then all wait for each other. Empty if `pid` waits at no pipe, or the other end is in none of `members`.
    """
    steps: list[int] = []
    while len(steps) < _MOST_STEPS:
        last = steps[-1] if steps else pid
        doing = foreground.activity(last)
        other = _other_end(last, members, reads=doing == foreground.PIPE) if doing in foreground.AT_PIPES else None
        if other is None:
            break
        steps.append(other)
        if other == pid or other in steps[:-1]:
            break
    return steps


def _other_end(pid: int, members: Sequence[int], *, reads: bool) -> int | None:
    ends = _ends(pid, os.O_RDONLY if reads else os.O_WRONLY)
    pipes = {end.link for end in ends if end.link.startswith("pipe:[")} or {
        end.link for end in ends if _is_named_fifo(pid, end)
    }
    if not pipes:
        return None
    # The standard streams are those of the program at the other end of a pipeline; else the process that made the
    # pipe is the oldest. A process that has both ends keeps itself waiting only if no other one has them
    best: list[tuple[bool, bool, int, int]] = []
    for member in {pid, *members}:
        fds = [end.fd for end in _ends(member, os.O_WRONLY if reads else os.O_RDONLY) if end.link in pipes]
        if fds:
            is_standard = any(fd in ((1, 2) if reads else (0,)) for fd in fds)
            best.append((member == pid, not is_standard, process.start_time(member) or 0, member))
    return min(best)[3] if best else None


def _ends(pid: int, mode: int) -> list[_End]:
    """Return what a process has open in this mode (fcntl(2), O_ACCMODE), or in both."""
    found = []
    for name in listed(f"/proc/{pid}/fd")[:_MOST_FDS]:
        flags = content(f"/proc/{pid}/fdinfo/{name}", _MOST_FDINFO).partition(b"flags:")[2].split()
        if flags and int(flags[0], 8) & os.O_ACCMODE in (mode, os.O_RDWR):
            try:
                found.append(_End(os.readlink(f"/proc/{pid}/fd/{name}"), int(name)))
            except OSError:  # closed meanwhile
                continue
    return found


def _is_named_fifo(pid: int, end: _End) -> bool:
    # Those of our own (.io) are read by the supervisor; the command only keeps them open
    if not end.link.startswith("/") or "/.io/" in end.link:
        return False
    try:
        return stat.S_ISFIFO(os.stat(f"/proc/{pid}/fd/{end.fd}").st_mode)
    except OSError:
        return False
