"""The logs as the supervisor holds them: two open files and their lengths. Other programs may cut or delete them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress

from outlive.core.records import STREAM_NAMES
from outlive.store import history
from outlive.store.atomic_file import open_to_write
from outlive.store.job_dir import LOGS, JobDir
from outlive.store.output.gap import output_size
from outlive.system.fds import Closing

_IN_PLACE_CHECK_S = 1.0  # how often, while there is output, the logs are checked for being still in place


class LogFiles:
    """`fds` and `sizes` belong to the pump, and are the same lists for ever. `write`: changes the
    state of the job, which was read."""

    def __init__(self, job: JobDir, tell: Callable[..., None], write: Callable[..., None]) -> None:
        """Errors: OSError. A log that was deleted is made again."""
        self.job = job
        self._tell = tell
        self._write = write
        self.fds = [open_to_write(job.fd, name) for name in LOGS]
        self.sizes = [max(output_size(job, stream), job.log_cuts[2 * stream + 1]) for stream in (0, 1)]
        self._synced = [0, 0]  # the lengths that `unsynced` saw
        self._look_at = time.monotonic() + _IN_PLACE_CHECK_S

    def mend(self, stream: int) -> None:
        """If the log was cut, say so, and give it its length back: positions behind it stay what they
        are. Before each write, so it costs one lseek(2)."""
        there = os.lseek(self.fds[stream], 0, os.SEEK_END)
        end = self.sizes[stream]
        if there >= end:
            return
        cuts, at = list(self.job.log_cuts), 2 * stream
        start, stop = cuts[at : at + 2]
        cuts[at : at + 2] = min(start, there) if stop else there, end
        self.job.log_cuts = cuts
        self._write(log_cuts=cuts)  # first: what reads as zeros is known to be no output
        try:
            os.ftruncate(self.fds[stream], end)
        except OSError:  # a limit on the length of files: the next look tries again
            return
        self._synced[stream] = 0
        if not stop:
            self._tell(history.MISSING, stream=STREAM_NAMES[stream], from_byte=there)

    def look(self, now: float) -> None:
        """Check once a second while there is output."""
        if now >= self._look_at:
            self._look_at = now + _IN_PLACE_CHECK_S
            self.check()

    def check(self) -> None:
        """Put each log back in place if it was moved, and back to its length if it was cut."""
        for stream in (0, 1):
            if not self._is_in_place(stream):
                self._open_again(stream)
            self.mend(stream)
            with suppress(OSError):  # the next look tries again
                # What another program has put behind the output: the output goes on there
                if os.lseek(self.fds[stream], 0, os.SEEK_END) > self.sizes[stream]:
                    os.ftruncate(self.fds[stream], self.sizes[stream])

    def _is_in_place(self, stream: int) -> bool:
        here = os.fstat(self.fds[stream])
        try:
            there = os.stat(LOGS[stream], dir_fd=self.job.fd, follow_symlinks=False)
        except OSError:
            return False
        return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)

    def _open_again(self, stream: int) -> None:
        if not self.job.is_in_place():  # the whole job was deleted: nothing is to be made there
            return
        try:
            with Closing(self.job.open_file(LOGS[stream], os.O_WRONLY | os.O_CREAT)) as fd:
                os.dup2(fd, self.fds[stream], inheritable=False)
        except OSError:  # a link or a directory in its place: what we hold goes on
            return
        self._synced[stream] = 0

    def unsynced(self) -> list[int]:
        """Return the fds of the logs that have grown since the last call."""
        grown = [fd for fd, size, old in zip(self.fds, self.sizes, self._synced, strict=True) if size != old]
        self._synced = list(self.sizes)
        return grown
