"""The outcome of a job that the disk does not take: it is full, read-only or broken."""

from __future__ import annotations

import os

from outlive.core.records import State
from outlive.store.job_dir import LOCK, UNWRITTEN_BYTE, JobDir
from outlive.system import locks


class Unwritten:
    """Keeps an outcome in memory. While it does, a lock tells readers to ask the control socket
    (store/inspection/rebuilt.py)."""

    def __init__(self, job: JobDir) -> None:
        self._job = job
        self._lock = -1
        self.state: State | None = None
        self.why: str | None = None

    def keep(self, state: State, error: OSError) -> None:
        self.state, self.why = state, error.strerror or str(error)
        if self._lock >= 0:
            return
        try:
            # Opened to read, which a read-only file system permits: a lock that is shared needs no more
            self._lock = self._job.open_file(LOCK, os.O_RDONLY)
            locks.share(self._lock, UNWRITTEN_BYTE)
        except OSError:  # readers then learn of the end when it is written
            return

    def forget(self) -> None:
        """It is written, or will never be."""
        self.state = self.why = None
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
