"""The two ends of a stdio connection: lines from the client, bytes to it.

Each may be a pipe, a socket, a terminal or a regular file. No file is made non-blocking, because
other processes may have it open; instead each step asks first whether it can be done at once.
"""

from __future__ import annotations

import fcntl
import os
import select

from outlive import limits
from outlive.system import fds

READ_BYTES = 65_536
_ROOM = 4096  # PIPE_BUF: a pipe that is ready to be written to takes as much without blocking
_FIRST_PRIVATE_FD = 3


class TooLong(bytes):
    """The beginning and the end of a line of more than STDIO_LINE_BYTES, of which no more is kept."""


class Wire:
    """The connection to the client, by two open files.

    `lines` are the lines that were read and not taken out yet, without their ends; a line that is
    too long is a `TooLong`. `ended`: the client sends no more.
    """

    def __init__(self, incoming: int, outgoing: int) -> None:
        self.incoming = incoming
        self.outgoing = outgoing
        self.lines: list[bytes] = []
        self.ended = False
        self._begun: list[bytes] = []  # the parts of a line whose end is yet to come, and
        self._begun_bytes = 0  # how long it is

    @classmethod
    def of_stdio(cls) -> Wire:
        """Return the connection on stdin and stdout. From here on fd 0 is /dev/null and fd 1 is stderr, so that nothing
        else in this process reads what the client sends, or writes between our answers."""
        wire = cls(*(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FIRST_PRIVATE_FD) for fd in (0, 1)))
        null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        os.dup2(null, 0)
        os.dup2(2, 1)
        os.close(null)
        return wire

    def can_read(self, timeout_ms: int | None = 0) -> bool:
        """Return whether `read` would not wait. None: wait until then."""
        return bool(fds.poll(self.incoming, select.POLLIN, timeout_ms))

    def read(self) -> None:
        """Read what there is, wait if that is nothing, and add to `lines`."""
        try:
            data = os.read(self.incoming, READ_BYTES)
        except BlockingIOError:  # the client made its end of a socket non-blocking, and ours with it
            self.can_read(None)
            return
        except OSError:  # the terminal was closed, the connection reset
            data = b""
        self.ended = not data
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._begin(part)
            self._end_line()
        if rest:
            self._begin(rest)
        if self.ended and self._begun:
            self._end_line()

    def _begin(self, part: bytes) -> None:
        self._begun_bytes += len(part)
        if self._begun_bytes > limits.STDIO_LINE_BYTES:
            del self._begun[1:-1]
        self._begun.append(part)

    def _end_line(self) -> None:
        line = b"".join(self._begun)
        self.lines.append(line if self._begun_bytes <= limits.STDIO_LINE_BYTES else TooLong(line))
        self._begun, self._begun_bytes = [], 0

    def write_some(self, data: memoryview) -> int:
        """Write what can be written without waiting, and return how many bytes that is. Errors: OSError."""
        done = 0
        while done < len(data) and fds.poll(self.outgoing, select.POLLOUT):
            try:
                done += os.write(self.outgoing, data[done : done + _ROOM])
            except BlockingIOError:
                break
        return done

    def write(self, data: bytes) -> None:
        """Write all of `data`, however long that takes. Errors: OSError."""
        rest = memoryview(data)
        while rest:
            rest = rest[self.write_some(rest) :]
            if rest:
                fds.poll(self.outgoing, select.POLLOUT, None)
