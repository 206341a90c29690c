"""What the first process of a sandbox reports: that the command started, and how it ended. A supervisor needs no more
once the command runs; what starts it is in session.py."""

from __future__ import annotations

import os
import select
import signal
import socket
import struct

from outlive.supervisor.confinement import Inside
from outlive.system import fds, process, tree

READY, STARTED, _ENDED = 1, 2, 3
_MESSAGE = struct.Struct("=ii")
_CREDENTIALS = 2  # SCM_CREDENTIALS: pid, uid, gid
START_S = 20.0


def report_pair() -> tuple[socket.socket, socket.socket]:
    """Return (the supervisor's end, the end in the sandbox) of the socket for reports."""
    here, there = fds.pair()
    here.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return here, there


def end_outer(outer: int) -> None:
    """Kill the bwrap outside, so that process 1 of the sandbox becomes our child."""
    try:
        os.kill(outer, signal.SIGKILL)
        os.waitpid(outer, 0)
    except (ProcessLookupError, ChildProcessError):
        return


def heard(here: socket.socket, ended: int | None = None) -> tuple[int, int, int]:
    """Return the next message as (kind, value, pid of the sender); (0, 0, 0) if none will come.
    `ended` is readable when bwrap has ended: a message that it caused is there by then."""
    poller = select.poll()
    for fd in (here.fileno(), *(() if ended is None else (ended,))):
        poller.register(fd, select.POLLIN)
    poller.poll(int(START_S * 1000))
    here.setblocking(False)
    try:
        message, control, _, _ = here.recvmsg(_MESSAGE.size, socket.CMSG_SPACE(12))
    except (BlockingIOError, ConnectionResetError):
        return 0, 0, 0
    if len(message) != _MESSAGE.size:
        return 0, 0, 0
    pids = [struct.unpack_from("=i", data)[0] for _, kind, data in control if kind == _CREDENTIALS]
    return (*_MESSAGE.unpack(message), pids[0] if pids else 0)


def outcome(here: socket.socket) -> int | None:
    """Return the wait status of the command, None if it was not reported: not yet, or never, if
    process 1 was killed. The message stays in the socket for a successor."""
    kind, value = _next(here)
    return value if kind == _ENDED else None


def _next(here: socket.socket) -> tuple[int, int]:
    """Return the message that waits in the socket as (kind, value), and leave it there; (0, 0) if none does."""
    try:
        message = here.recv(_MESSAGE.size, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except (BlockingIOError, ConnectionResetError):
        return 0, 0
    return _MESSAGE.unpack(message) if len(message) == _MESSAGE.size else (0, 0)


def found_again(here: socket.socket) -> Inside | None:
    """Return the command that a killed supervisor started and did not record, by the process tree
    below this process; None if there is none.

    Process 1 of the sandbox has made the command as its first child, so its number inside is 2.
    """
    for _ in range(2):
        below = {member.pid: tree.number_inside(member.pid) for member in tree.below(os.getpid())}
        command = next((pid for pid, number in below.items() if number == 2), 0)
        init = next((pid for pid, number in below.items() if number == 1), 0)
        if init and process.parent(init) != os.getpid():
            end_outer(process.parent(init) or 0)
        if command and init:
            # Take the reports of the start out of the socket, as far as the killed supervisor did not
            while _next(here)[0] in (READY, STARTED):
                here.recv(_MESSAGE.size, socket.MSG_DONTWAIT)
            return Inside(command, init)
        kind, value, _ = heard(here)
        if kind == 0 or (kind == STARTED and value):
            return None
    return None
