"""Open files that stay open though their owner is killed.

A pair of connected sockets, both ends open in guardian and supervisor: what is sent into it is
queued in the kernel, and a queued fd is an open fd. The guardian can sleep in waitpid and never
touch it; after a SIGKILL it takes the queue over. (Read ends held nowhere else lost bytes in 56 of
100 runs; with an escrow in 0 of 100.)
"""

from __future__ import annotations

import os

from outlive.system import fds


class Queue:
    """Named open files in such a pair."""

    def __init__(self) -> None:
        self._in, self._out = fds.pair()

    def filenos(self) -> set[int]:
        return {self._in.fileno(), self._out.fileno()}

    def put(self, held: dict[str, int]) -> None:
        """Queue copies of these fds under their names. The caller's own stay open."""
        fds.send(self._in, ",".join(held).encode(), tuple(held.values()))

    def take(self) -> dict[str, int]:
        """Take everything out of the queue, and return it by name. Never blocks."""
        self._out.setblocking(False)
        files: dict[str, int] = {}
        while True:
            try:
                names, numbers = fds.receive(self._out, 4096)
            except BlockingIOError:
                return files
            files.update(zip(names.decode().split(","), numbers, strict=False))

    def empty(self) -> None:
        """Close everything that is queued."""
        for fd in self.take().values():
            os.close(fd)


class Escrow(Queue):
    """What a successor goes on with. `stdin` has the write end of an open stdin alone: end of file has to
    be able to close all copies of it."""

    def __init__(self) -> None:
        super().__init__()
        self.stdin = Queue()

    def filenos(self) -> set[int]:
        return super().filenos() | self.stdin.filenos()

    def empty(self) -> None:
        super().empty()
        self.stdin.empty()
