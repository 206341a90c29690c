"""The way in: data for the job's stdin or terminal, taken as the job reads it."""

from __future__ import annotations

import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable

from outlive.supervisor.control_server import Connection
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.job_fds import FdQueue
from outlive.system import pty, splice

_TERMINAL_RETRY_S = 0.05  # a full terminal is tried again, whether or not it said that it has room

_CHUNK = 65_536
_ENDS = rb"[\x00-\x08\x0a-\x1f]"


class _Write:
    """What is to be written, the bytes or the rest of an open file, and how far that got."""

    def __init__(
        self, data: bytes, file: int | None, eof: bool, connection: Connection | None, wait_s: float | None
    ) -> None:
        self.data = memoryview(data)
        self.file = file
        self.done = 0
        self.eof = eof
        self.connection = connection
        self.until = None if wait_s is None else time.monotonic() + wait_s

    def answer(self, *, closed: bool, eof: bool = False) -> None:
        """`eof`: was the end of the input, if one was asked for, given too?"""
        if self.connection is not None:
            complete = self.done == len(self.data)
            self.connection.answer(ok=True, written=self.done, closed=closed, complete=complete, eof=eof)


class Feed(ABC):
    """Writes in the order in which they were asked for, never blocking."""

    def __init__(self, loop: EventLoop, way: int, on_input: Callable[[], None]) -> None:
        """`way`: an fd, ours from now on. `on_input` is called before bytes go in."""
        self._loop = loop
        self._way: int | None = way
        self._on_input = on_input
        self._queue: list[_Write] = []
        self._expiry = loop.timer(self._expire)
        os.set_blocking(way, False)

    def put(self, data: bytes, *, eof: bool, connection: Connection, wait_s: float) -> None:
        """Queue one write. The answer comes when all is in, after `wait_s`, or when the job closed
        its side; what has not been written by then is dropped and not counted."""
        self._enqueue(_Write(data, None, eof, connection, wait_s))

    def put_file(self, file: int) -> None:
        """Queue the rest of an open file. Its offset moves with what was taken: if this process is
        killed, the guardian goes on there."""
        self._enqueue(_Write(b"", file, False, None, None))

    def _enqueue(self, write: _Write) -> None:
        if self._way is None:
            write.answer(closed=True)
            return
        self._queue.append(write)
        if len(self._queue) == 1:
            self._loop.write(self._way, self._push)
            self._push()
        self._set_timer()

    def _push(self) -> None:
        """Write as much as is taken now."""
        while self._queue and self._way is not None:
            write = self._queue[0]
            self._on_input()
            try:
                self._move(write, self._way)
                ended = write.eof and self._end(self._way)
            except BlockingIOError:
                return
            except OSError:  # EPIPE: the job closed its side. EIO: no process has the terminal open
                self.close()
                return
            self._queue.pop(0)
            write.answer(closed=self._way is None, eof=ended)
        if self._way is not None:
            self._loop.forget(self._way)
        self._set_timer()

    def _move(self, write: _Write, way: int) -> None:
        """Write all of it. Errors: OSError; what was taken before is counted."""
        while write.file is not None and self._from_file(write.file, way):
            continue
        while write.done < len(write.data):
            write.done += os.write(way, write.data[write.done : write.done + _CHUNK])

    def _from_file(self, file: int, way: int) -> int:
        return splice.feed(file, way, _CHUNK)

    @abstractmethod
    def _end(self, way: int) -> bool:
        """Give the job end of file, and return whether it was given. Errors: OSError; BlockingIOError: try later."""

    def _set_timer(self) -> None:
        ends = [write.until for write in self._queue if write.until is not None]
        if ends:
            self._expiry.at(min(ends))
        else:
            self._expiry.cancel()

    def _expire(self) -> None:
        now = time.monotonic()
        late = [write for write in self._queue if write.until is not None and write.until <= now]
        self._queue = [write for write in self._queue if write not in late]
        for write in late:
            write.answer(closed=False)
        if not self._queue and self._way is not None:
            self._loop.forget(self._way)
        self._set_timer()

    def close(self) -> None:
        """Close the way in: no more can be written."""
        if self._way is None:
            return
        self._loop.forget(self._way)
        os.close(self._way)
        self._way = None
        for write in self._queue:
            write.answer(closed=True)
        self._queue = []
        self._expiry.cancel()


class PipeFeed(Feed):
    """Into an open stdin. `escrow` holds the one copy of the write end that must not be in the
    guardian's own hands: end of file has to be able to close them all."""

    def __init__(
        self, loop: EventLoop, pipe: int, escrow: FdQueue, on_input: Callable[[], None], on_closed: Callable[[], None]
    ) -> None:
        super().__init__(loop, pipe, on_input)
        self._escrow = escrow
        self._on_closed = on_closed

    def _end(self, _way: int) -> bool:
        first = self._queue.pop(0)  # `_push` answers it
        self.close()
        self._queue = [first]
        return True

    def close(self) -> None:
        if self._way is not None:
            super().close()
            self._escrow.empty()
            self._on_closed()


class TerminalFeed(Feed):
    """Into a terminal, as if typed. It never closes: the end of the input is a character, and more
    may be typed after it."""

    def __init__(self, loop: EventLoop, master: int, on_input: Callable[[], None]) -> None:
        super().__init__(loop, os.dup(master), on_input)
        self._next_try = loop.timer(self._retry)
        self.line_bytes = 0  # of a line that was begun in canonical mode

    def _move(self, write: _Write, way: int) -> None:
        before = write.done
        try:
            super()._move(write, way)
        finally:
            if write.done > before:
                self._remember(bytes(write.data[before : write.done]), way)

    def _from_file(self, file: int, way: int) -> int:
        """Not by splice, which does not say how much of a chunk a full terminal took."""
        at = os.lseek(file, 0, os.SEEK_CUR)
        data = os.pread(file, _CHUNK, at)
        if data:
            taken = os.write(way, data)
            os.lseek(file, at + taken, os.SEEK_SET)
            self._remember(data[:taken], way)
        return len(data)

    def _remember(self, typed: bytes, way: int) -> None:
        """Note how much of a line was begun. Control characters other than tab end one, or throw it away."""
        *before, last = re.split(_ENDS, typed)
        self.line_bytes = len(last) + (0 if before else self.line_bytes) if pty.modes(way).canonical else 0

    def _end(self, way: int) -> bool:
        """VEOF hands a line that was begun to the reader; only at its start it means the end (termios(3))."""
        modes = pty.modes(way)
        wanted = modes.eof * (2 if self.line_bytes and modes.canonical else 1)
        if os.write(way, wanted) < len(wanted):
            os.write(way, modes.eof)
        self.line_bytes = 0
        return True

    def _enqueue(self, write: _Write) -> None:
        super()._enqueue(write)
        self._retry()

    def _retry(self) -> None:
        """A terminal whose reader was slow does not always tell that it has room again."""
        if self._queue and self._way is not None:
            self._push()
        if self._queue:
            self._next_try.after(_TERMINAL_RETRY_S)
