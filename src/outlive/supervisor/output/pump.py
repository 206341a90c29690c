"""Output: out of the FIFOs, into the logs, in the order of its arrival."""

from __future__ import annotations

import errno
import os
import select
import time
from collections.abc import Callable
from contextlib import suppress

from outlive import limits
from outlive.core.records import State
from outlive.errors import limit_of
from outlive.store.job_dir import LOGS
from outlive.store.output.merged import OrderWriter
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.job_fds import FifoSource, JobFds, TerminalSource
from outlive.supervisor.output.log_files import LogFiles
from outlive.supervisor.output.masking import Masking
from outlive.supervisor.output.quota import Quota
from outlive.system import splice
from outlive.system.fds import Closing

FLOOD_TURNS = 16  # this many turns of one stream in a row, ...
_FLOOD_TURN_S = 0.00025  # ... each at most this long after the one before, are a flood of small writes
FLOOD_PAUSE_S = 0.0003  # a turn of a flood waits this long for more
_LARGE_BYTES = limits.PIPE_BYTES // 8  # at once: writes so large are worth a turn each
_FULL_BYTES = limits.PIPE_BYTES * 15 // 16  # after a pause: the pipe may have made its writer wait for us


class Batching:
    """Whether a turn does well to wait for more output. All times are seconds on one clock.

    A flood of single lines wakes the pump for each of them: it takes a core, and the pipe's lock from
    the writer, for 80 bytes a turn. A fraction of a millisecond later there are hundreds of lines.
    Output that does not come in a flood is taken at once.
    """

    def __init__(self) -> None:
        self._stream = -1
        self._turns = 0
        self._last = self._pause = 0.0

    def pause(self, stream: int, now: float) -> float:
        """A turn of `stream` begins: how long it is to wait first."""
        if stream != self._stream or now - self._last > _FLOOD_TURN_S:
            self._turns = 0  # what two streams write keeps its order best if each is taken at once
        self._pause = FLOOD_PAUSE_S if self._turns >= FLOOD_TURNS else 0.0
        self._stream, self._last = stream, now + self._pause
        self._turns += 1
        return self._pause

    def moved(self, count: int) -> None:
        """The turn moved `count` bytes."""
        if count > (_FULL_BYTES if self._pause else _LARGE_BYTES):
            self._turns = 0


class DropCounter:
    """Takes bytes that no log takes out of a pipe, and counts them. `bytes`: how many, from `known` on. `on_drop` is called
    when there are more.

    The count is in a file in memory, of which a copy is in escrow: on a full disk the state cannot have it, and the process
    that goes on with the job goes on with the count. What a killed process had taken and not yet counted is missing in it.
    """

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


_PIPE_QUIET_S = 2.0  # an enlarged pipe is shrunk after this long without output

# The log cannot take more; the job must not be blocked or killed for it.
# EBADF: the log was opened when the disk was read-only already (atomic_file.open_to_write)
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.EROFS, errno.EBADF})


class Pump:
    """Moves the output: two FIFOs, one terminal, or (of a terminal that went with its supervisors)
    nothing. `drops` counts the bytes that no disk would take, or that are beyond a quota where
    nothing can be given back."""

    def __init__(
        self,
        loop: EventLoop,
        sources: list[FifoSource | TerminalSource],
        files: LogFiles,
        drops: DropCounter,
        quota: Quota,
        on_output: Callable[[], None],
        on_end: Callable[[], None],
    ) -> None:
        self._job = files.job
        self._loop = loop
        self._sources = sources
        self._on_output = on_output
        self._on_end = on_end
        self._quota = quota
        self.files = files
        self._logs, self._sizes = files.fds, files.sizes
        self._order = OrderWriter(files.job, files.sizes)
        self._masking: Masking | None = None
        # All that a quota costs before it is reached: two comparisons and a subtraction for each splice
        self._room, self._most = quota.full_at - sum(self._sizes), quota.turn_bytes
        self._capacity = [limits.PIPE_BYTES for _ in sources]
        self._shrinks = [loop.timer(self._shrink, stream) for stream in range(len(sources))]
        self._open = [True for _ in sources]
        self._batching = Batching()
        self.drops = drops
        self.file_limit: int | None = None  # bytes that a log may have, once that was met
        self.last_output = time.monotonic()

    @property
    def ended(self) -> bool:
        """Return whether every writer has gone."""
        return not any(self._open)

    @property
    def end(self) -> int:
        """The length of the merged output."""
        return self._order.end(self._sizes)

    def last_bytes(self, count: int) -> bytes:
        """The end of the stream that was written last, as readers see it."""
        stream = self._order.stream
        if stream < 0:
            return b""
        size = self._sizes[stream]
        start = max(0, size - count)
        try:
            with Closing(self._job.open_file(LOGS[stream])) as log:
                data = os.pread(log, size - start, start)
            return data if self._masking is None else self._masking.shown(stream, start, data)
        except OSError:  # it was deleted
            return b""

    def start(self, *, late: bool) -> None:
        """Begin to watch the streams. `late`: they were opened when the command ran already. Then
        read once before the first wait: a FIFO opened after its writers left never reports anything
        to poll."""
        for stream in range(len(self._sources)):
            self._watch(stream)
            if late:
                self._turn(stream)
        self.mask()

    def _watch(self, stream: int) -> None:
        self._open[stream] = True
        self._loop.read(self._sources[stream].fd, lambda: self._turn(stream))

    def look_again(self) -> bool:
        """Go on with a stream that had ended and was opened again, by its name under /proc. Return
        whether a stream is open."""
        for stream, source in enumerate(self._sources):
            if not self._open[stream] and source.is_open_again():
                self._watch(stream)
        return not self.ended

    def take_what_is_there(self) -> None:
        """Move what is there now, and no more: a descendant may write for ever."""
        self.files.check()
        for stream, source in enumerate(self._sources):
            left = source.rest()
            while left > 0:
                moved = self._move(stream, left)
                if moved <= 0:
                    break
                left -= moved
        if self._room < 0:  # else the end of file, which may come after the end of the command, makes the gap longer
            self._make_room()

    def _turn(self, stream: int) -> None:
        now = time.monotonic()
        self.files.look(now)
        pause = self._batching.pause(stream, now)
        if pause:
            self._wait_for_more(stream, pause)
        self._enlarge_if_full(stream)
        moved = self._move(stream, self._capacity[stream])
        self._batching.moved(moved)
        if moved == 0:  # end of file: the last writer is gone
            self._loop.forget(self._sources[stream].fd)
            self._open[stream] = False
            self._on_end()
        elif moved > 0:
            self.last_output = time.monotonic()
            self.mask()
            self._on_output()

    def mask_lines(self, masked: list[str]) -> None:
        """Mask these texts in the output."""
        with suppress(OSError):  # readers then show nothing of what comes
            self._masking = Masking(self._job, masked)

    def mask(self, *, final: bool = False) -> None:
        """Find masked values in what was moved, before a reader is told of it."""
        if self._masking is not None:
            self._masking.look(self._sizes, final=final)

    def _wait_for_more(self, stream: int, seconds: float) -> None:
        """Not in the loop, whose timers count in milliseconds. What the other stream says ends it:
        it comes behind this."""
        others = [source.fd for one, source in enumerate(self._sources) if one != stream and self._open[one]]
        select.select(others, (), (), seconds)

    def _move(self, stream: int, count: int) -> int:
        """Bytes moved or dropped; 0 at end of file, -1 if there was nothing."""
        source = self._sources[stream]
        if count > self._most:  # noqa: PLR1730 - min() takes twice as long
            count = self._most
        more = source.fill(count)
        if self._room < 0 and not self._make_room():
            gone = self._drop(stream, count)
            return 0 if gone < 0 and not more else gone
        try:
            self.files.mend(stream)
            self._order.before(stream, self._sizes)
            moved = splice.move(source.pipe, self._logs[stream], self._sizes[stream], count)
        except BlockingIOError:
            return -1 if more else 0
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            if error.errno == errno.EFBIG and self.file_limit is None:
                self.file_limit = limit_of("FSIZE")
            return self._drop(stream, count)
        self._sizes[stream] += moved
        self._room -= moved
        return moved

    def _make_room(self) -> bool:
        possible = self._quota.make_room(sum(self._sizes))
        self._room = self._quota.full_at - sum(self._sizes)
        return possible

    def _drop(self, stream: int, count: int) -> int:
        try:
            return self.drops.drop(self._sources[stream].pipe, count)
        except BlockingIOError:
            return -1

    def _enlarge_if_full(self, stream: int) -> None:
        """Pipes stay at 64 KiB until one is found full: the 65th large one of a user makes all his new ones tiny."""
        source = self._sources[stream]
        if self._capacity[stream] > limits.PIPE_BYTES or splice.waiting_bytes(source.pipe) < limits.PIPE_BYTES:
            return
        if source.resize(limits.PIPE_FULL_BYTES):
            self._capacity[stream] = limits.PIPE_FULL_BYTES
            self._shrinks[stream].after(_PIPE_QUIET_S)

    def _shrink(self, stream: int) -> None:
        quiet = time.monotonic() - self.last_output
        if quiet >= _PIPE_QUIET_S and self._sources[stream].resize(limits.PIPE_BYTES):
            self._capacity[stream] = limits.PIPE_BYTES
            return
        self._shrinks[stream].after(max(0.1, _PIPE_QUIET_S - quiet))

    def recorded_in(self, state: State) -> State:
        """Return the state with what it keeps of the output."""
        return State.replace(
            state, dropped_bytes=self.drops.bytes, log_bytes=list(self._sizes), file_limit=self.file_limit
        )
