"""Where a job's output comes from: the FIFOs of its two streams, or the master of its terminal.

A source has the `fd` that tells when to look, and the `pipe` out of which bytes are spliced.
"""

from __future__ import annotations

import os

from outlive import limits
from outlive.system import fds, pty, splice

_TERMINAL_HELD_BYTES = 131_072  # more than a terminal can hold: 64 KiB of buffers and 4 KiB in the line discipline


class Fifo:
    """One stream of a job without terminal."""

    __slots__ = ("fd", "pipe")

    def __init__(self, reader: int) -> None:
        self.fd = self.pipe = reader

    def fill(self, _count: int) -> bool:
        """Get bytes into the pipe. False: nothing more will come."""
        return True

    def rest(self) -> int:
        """At most so many bytes are there now."""
        return fds.waiting_bytes(self.fd)

    def is_open_again(self) -> bool:
        """Has somebody opened it after all writers had gone?"""
        return bool(fds.waiting_bytes(self.fd))

    def enlarge(self) -> bool:
        return fds.set_pipe_size(self.pipe, limits.PIPE_FULL_BYTES)

    def shrink(self) -> bool:
        return fds.set_pipe_size(self.pipe, limits.PIPE_BYTES)


class Master:
    """The master of a terminal, and the pipe through which its bytes get into the log without being held by anybody:
    a terminal cannot be spliced into a file (copied by read and write, 7 of 20 runs were whole after a SIGKILL)."""

    __slots__ = ("_into", "fd", "pipe")

    def __init__(self, master: int, relay: tuple[int, int]) -> None:
        """`relay`: a pipe's (read end, write end), non-blocking."""
        self.fd = master
        self.pipe, self._into = relay

    def fill(self, count: int) -> bool:
        try:
            splice.relay(self.fd, self._into, count)
        except BlockingIOError:  # nothing there, or the relay is full
            return True
        except OSError:  # EIO: everybody has closed the slave, and all it wrote has been read (pty(7))
            return False
        return True

    def rest(self) -> int:
        """FIONREAD does not count what the line discipline has not seen yet; a read does."""
        return _TERMINAL_HELD_BYTES

    def is_open_again(self) -> bool:
        return not pty.is_hung_up(self.fd)

    def enlarge(self) -> bool:
        return False

    def shrink(self) -> bool:
        return True


def new_relay() -> tuple[int, int]:
    return os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
