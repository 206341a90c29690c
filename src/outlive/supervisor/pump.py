"""Output: out of the FIFOs, into the logs, in the order of its arrival."""

from __future__ import annotations

import errno
import os
import time

from outlive import limits
from outlive.store.jobdir import FIFOS, LOGS
from outlive.store.output import OrderWriter
from outlive.system import fds, splice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from outlive.store.jobdir import JobDir
    from outlive.supervisor.loop import Loop

# The log cannot take more; the job must not be blocked or killed for it.
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.EROFS})


def open_readers(job: JobDir) -> list[int]:
    """The read ends of both FIFOs. They open at once, with or without a writer (fifo(7))."""
    return [job.open_file(name, os.O_RDONLY | os.O_NONBLOCK) for name in FIFOS]


class Pump:
    """Moves both streams. `dropped` counts the bytes that no disk would take."""

    def __init__(
        self,
        job: JobDir,
        loop: Loop,
        readers: list[int],
        on_output: Callable[[], None],
        on_end: Callable[[], None],
        on_drop: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._readers = readers
        self._on_output = on_output
        self._on_end = on_end
        self._on_drop = on_drop
        self._logs = [job.open_file(name, os.O_WRONLY) for name in LOGS]
        self._sizes = [os.fstat(fd).st_size for fd in self._logs]
        self._order = OrderWriter(job)
        self._capacity = [limits.PIPE_BYTES, limits.PIPE_BYTES]
        self._open = [True, True]
        self.dropped = 0
        self.last_output = time.monotonic()

    @property
    def ended(self) -> bool:
        """Has every writer of both streams gone?"""
        return not any(self._open)

    def start(self) -> None:
        """Read once before the first wait: a FIFO opened after its writers left never reports anything to poll."""
        for stream in (0, 1):
            self._watch(stream)
            self._turn(stream)

    def _watch(self, stream: int) -> None:
        self._open[stream] = True
        self._loop.read(self._readers[stream], lambda: self._turn(stream))

    def look_again(self) -> bool:
        """Has a stream that had ended been opened again, by its name under /proc? Then go on with it."""
        for stream in (0, 1):
            if not self._open[stream] and fds.waiting_bytes(self._readers[stream]):
                self._watch(stream)
        return not self.ended

    def take_what_is_there(self) -> None:
        """Move what both pipes hold now, and no more: a descendant may write for ever."""
        for stream in (0, 1):
            left = fds.waiting_bytes(self._readers[stream])
            while left > 0:
                moved = self._move(stream, left)
                if moved <= 0:
                    break
                left -= moved

    def _turn(self, stream: int) -> None:
        self._enlarge_if_full(stream)
        moved = self._move(stream, self._capacity[stream])
        if moved == 0:  # end of file: the last writer is gone
            self._loop.forget(self._readers[stream])
            self._open[stream] = False
            self._on_end()
        elif moved > 0:
            self.last_output = time.monotonic()
            self._on_output()

    def _move(self, stream: int, count: int) -> int:
        """Bytes moved or dropped; 0 at end of file, -1 if there was nothing."""
        reader = self._readers[stream]
        try:
            self._order.before(stream, self._sizes)
            moved = splice.move(reader, self._logs[stream], self._sizes[stream], count)
        except BlockingIOError:
            return -1
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            return self._drop(stream, count)
        self._sizes[stream] += moved
        return moved

    def _drop(self, stream: int, count: int) -> int:
        try:
            gone = splice.discard(self._readers[stream], count)
        except BlockingIOError:
            return -1
        self.dropped += gone
        self._on_drop()
        return gone

    def _enlarge_if_full(self, stream: int) -> None:
        """Pipes stay at 64 KiB until one is found full: the 65th large one of a user makes all his new ones tiny."""
        reader = self._readers[stream]
        if self._capacity[stream] > limits.PIPE_BYTES or fds.waiting_bytes(reader) < limits.PIPE_BYTES:
            return
        if fds.set_pipe_size(reader, limits.PIPE_FULL_BYTES):
            self._capacity[stream] = limits.PIPE_FULL_BYTES
            self._loop.after(f"shrink{stream}", limits.PIPE_QUIET_S, lambda: self._shrink(stream))

    def _shrink(self, stream: int) -> None:
        quiet = time.monotonic() - self.last_output
        if quiet >= limits.PIPE_QUIET_S and fds.set_pipe_size(self._readers[stream], limits.PIPE_BYTES):
            self._capacity[stream] = limits.PIPE_BYTES
            return
        wait = max(0.1, limits.PIPE_QUIET_S - quiet)
        self._loop.after(f"shrink{stream}", wait, lambda: self._shrink(stream))

    def sync(self) -> None:
        for fd in self._logs:
            try:
                os.fsync(fd)
            except OSError:
                continue
