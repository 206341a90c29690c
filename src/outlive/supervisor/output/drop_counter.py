"""Bytes of output that no log takes: out of the pipe, and counted.

The count is in a file in memory, of which a copy is in escrow: on a full disk the state cannot have it, and the process
that goes on with the job goes on with the count. What a killed process had taken and not yet counted is missing in it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from outlive.supervisor.job_fds import JobFds


class DropCounter:
    """Takes bytes out of a pipe and counts them. `bytes`: how many, from `known` on. `on_drop` is called when there are
    more."""

    def __init__(self, job_fds: JobFds, known: int, on_drop: Callable[[], None]) -> None:
        self._on_drop = on_drop
        self._job_fds = job_fds
        kept = b"" if job_fds.dropped is None else os.pread(job_fds.dropped, 8, 0)
        self.bytes = max(known, int.from_bytes(kept, "little"))

    def drop(self, pipe: int, count: int) -> int:
        """Take up to `count` bytes out of `pipe`; return how many, 0 at end of file. Errors:
        BlockingIOError when it is empty."""
        gone = len(os.read(pipe, count))
        if gone:
            self.bytes += gone
            with suppress(OSError):  # no memory, or no file may have a byte: the count is in this process alone
                os.pwrite(self._job_fds.counter(), self.bytes.to_bytes(8, "little"), 0)
            self._on_drop()
        return gone
