"""Bytes of output that no log takes: out of the pipe, and counted.

A process that reads bytes and counts them afterwards may be killed in between. So they are spliced
into a file in memory, whose length is the count; what it holds is given back as it comes. A copy of
the open file is in escrow: the process that goes on with the job goes on with the count.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from outlive.supervisor.job_fds import JobFds
from outlive.system import splice
from outlive.system.hole_punch import punch

_HELD_BYTES = 1 << 20  # of memory, before they are given back


class DropCounter:
    """Takes bytes out of a pipe and counts them. `known`: how many were counted before. `on_drop` is
    called when there are more."""

    def __init__(self, job_fds: JobFds, known: int, on_drop: Callable[[], None]) -> None:
        self._on_drop = on_drop
        self._job_fds = job_fds
        self._known = known
        self._fd = job_fds.dropped
        self._is_countable = True  # in a file in memory
        self._given_back = 0
        if self._fd is not None:
            self._given_back = self._known = max(known, os.fstat(self._fd).st_size)
            os.ftruncate(self._fd, self._known)

    @property
    def bytes(self) -> int:
        return self._known if self._fd is None else os.fstat(self._fd).st_size

    def drop(self, pipe: int, count: int) -> int:
        """Take up to `count` bytes out of `pipe`; return how many, 0 at end of file. Errors:
        BlockingIOError when it is empty."""
        gone = self._take(pipe, count)
        if gone:
            self._on_drop()
        return gone

    def _take(self, pipe: int, count: int) -> int:
        counter = self._counter()
        if counter is None:
            gone = len(os.read(pipe, count))
            self._known += gone
            return gone
        at = os.fstat(counter).st_size
        try:
            gone = splice.append(pipe, counter, at, count)
        except BlockingIOError:
            raise
        except OSError:  # no memory, or a limit on the length of files
            self._known, self._fd, self._is_countable = at, None, False
            return self._take(pipe, count)
        if at + gone - self._given_back > _HELD_BYTES:
            try:
                punch(counter, self._given_back, at + gone)
                self._given_back = at + gone
            except OSError:  # it stays in memory
                pass
        return gone

    def _counter(self) -> int | None:
        if self._fd is None and self._is_countable:
            try:
                self._fd = self._job_fds.keep_dropped(self._known)
                self._given_back = self._known
            except OSError:
                self._is_countable = False
        return self._fd
