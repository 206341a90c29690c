"""The way in: data for the job's stdin, taken by the pipe as the job reads it."""

from __future__ import annotations

import os
import time

from outlive.system import splice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from outlive.supervisor.control import Connection
    from outlive.supervisor.escrow import Escrow
    from outlive.supervisor.loop import Loop

_CHUNK = 65_536


class _Write:
    """One request, and how far it got."""

    __slots__ = ("connection", "data", "done", "eof", "file", "until")

    def __init__(
        self, data: bytes, eof: bool, connection: Connection | None, until: float | None, file: int | None = None
    ) -> None:
        self.data = memoryview(data)
        self.file = file
        self.done = 0
        self.eof = eof
        self.connection = connection
        self.until = until

    def answer(self, *, closed: bool) -> None:
        if self.connection is not None:
            self.connection.answer(ok=True, written=self.done, closed=closed, complete=self.done == len(self.data))


class Feed:
    """Writes in the order in which they were asked for, never blocking. None as `pipe`: there is no way in.

    `escrow` holds the one copy of the pipe's write end that must not be in the guardian's own hands: `eof` has to be
    able to close them all.
    """

    def __init__(self, loop: Loop, pipe: int | None, escrow: Escrow, on_closed: Callable[[], None]) -> None:
        self._loop = loop
        self._pipe = pipe
        self._escrow = escrow
        self._on_closed = on_closed
        self._queue: list[_Write] = []
        if pipe is not None:
            os.set_blocking(pipe, False)

    def put(self, data: bytes, *, eof: bool, connection: Connection | None = None, wait_s: float | None = None) -> None:
        """Queue one write. The answer comes when all is in the pipe, after `wait_s`, or when the job closed its side;
        what has not been written by then is dropped and not counted."""
        until = None if wait_s is None else time.monotonic() + wait_s
        self._enqueue(_Write(data, eof, connection, until))

    def put_file(self, file: int) -> None:
        """Queue the rest of an open file. Its offset moves with what the pipe took, inside the kernel: whoever holds the
        file when we are killed goes on exactly there."""
        self._enqueue(_Write(b"", False, None, None, file))

    def _enqueue(self, write: _Write) -> None:
        if self._pipe is None:
            write.answer(closed=True)
            return
        self._queue.append(write)
        if len(self._queue) == 1:
            self._loop.write(self._pipe, self._push)
            self._push()
        self._set_timer()

    def _push(self) -> None:
        """As much as the pipe takes."""
        while self._queue and self._pipe is not None:
            write = self._queue[0]
            try:
                while write.file is not None and splice.feed(write.file, self._pipe, _CHUNK):
                    continue
                while write.done < len(write.data):
                    write.done += os.write(self._pipe, write.data[write.done : write.done + _CHUNK])
            except BlockingIOError:
                return
            except OSError:  # EPIPE: the job closed its side
                self.close()
                return
            self._queue.pop(0)
            if write.eof:
                self.close()
                write.answer(closed=True)
                return
            write.answer(closed=False)
        if self._pipe is not None:
            self._loop.forget(self._pipe)
        self._set_timer()

    def _set_timer(self) -> None:
        ends = [write.until for write in self._queue if write.until is not None]
        if ends:
            self._loop.at("feed", min(ends), self._expire)
        else:
            self._loop.cancel("feed")

    def _expire(self) -> None:
        now = time.monotonic()
        late = [write for write in self._queue if write.until is not None and write.until <= now]
        self._queue = [write for write in self._queue if write not in late]
        for write in late:
            write.answer(closed=False)
        if not self._queue and self._pipe is not None:
            self._loop.forget(self._pipe)
        self._set_timer()

    def close(self) -> None:
        """End of file for the job: every copy of the write end goes, also the one in escrow."""
        if self._pipe is None:
            return
        self._loop.forget(self._pipe)
        os.close(self._pipe)
        self._pipe = None
        self._escrow.empty()
        for write in self._queue:
            write.answer(closed=True)
        self._queue = []
        self._loop.cancel("feed")
        self._on_closed()
