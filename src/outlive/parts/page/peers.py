"""The process at the other end of a connection."""

from __future__ import annotations

import errno
import select
import socket

from outlive.parts.tcp import numeric
from outlive.system.process import open_pidfd

_SO_PEERPIDFD = 77  # asm-generic/socket.h, Linux 6.5


def user_at(there: tuple[str, int], here: tuple[str, int]) -> int | None:
    """Return the user of the process at the far end of a connection between two addresses of this
    machine. None if no process is there: another machine's, another network namespace's, or one that
    has closed the connection, whose user the kernel has forgotten."""
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(path, "rb") as file:
                file.readline()  # the heading
                for line in file:
                    fields = line.split()
                    if int(fields[9]) and _place(fields[1]) == there and _place(fields[2]) == here:
                        return int(fields[7])
        except OSError:  # a kernel without IPv6
            continue
    return None


def _place(field: bytes) -> tuple[str, int]:
    address, _, number = field.rpartition(b":")
    return numeric(address), int(number, 16)


def open_peer(sock: socket.socket, pid: int) -> int | None:
    """Return a handle on the process at the other end of a socket, whose pid is `pid`; None if it is gone, in another pid
    namespace, or cannot be held. Before Linux 6.5 the pid may be another process's by now."""
    if pid <= 0:
        return None
    try:
        return sock.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
    except OSError as error:
        return open_pidfd(pid) if error.errno == errno.ENOPROTOOPT else None


def has_ended(pidfd: int) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))
