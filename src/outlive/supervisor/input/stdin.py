"""The input of a job: its stdin or its terminal, and whether the job waits for input."""

from __future__ import annotations

import os
import stat
import termios
from collections.abc import Callable

from outlive import limits
from outlive.core.records import InputWait
from outlive.store import history
from outlive.store.job_dir import JobDir
from outlive.supervisor.control_requests import BadRequest, ControlRequest, GetTerminal, Resize, Write
from outlive.supervisor.control_server import Connection
from outlive.supervisor.ending.members import Members
from outlive.supervisor.event_loop import EventLoop
from outlive.supervisor.input.feed import Feed, PipeFeed, TerminalFeed
from outlive.supervisor.input.prompt_detector import PromptDetector
from outlive.supervisor.input.terminal import Terminal
from outlive.supervisor.job_fds import JobFds
from outlive.supervisor.job_record import JobRecord
from outlive.supervisor.output.pump import Pump
from outlive.system import blocked_reads, fds, pty


class NoInput:
    """The input of a job with neither an open stdin nor a terminal. It costs nothing."""

    def start(self) -> None:
        """Feed the first data, and begin to look for prompts."""

    def end(self) -> None:
        """Close the input after the end of the command. What it left behind keeps the terminal."""

    def output(self) -> None:
        """Take note of new output."""

    def look(self) -> None:
        """Read what the program asks its terminal."""

    def serve(self, connection: Connection, request: ControlRequest, files: list[int]) -> None:
        """Do what a checked write, terminal or resize asks for. Errors: BadRequest."""
        if isinstance(request, Write):
            self._put(connection, request, _data(files[0]) if files else b"")
        elif isinstance(request, GetTerminal):
            self._say_terminal(connection)
        elif isinstance(request, Resize):
            self._resize(connection, request.cols, request.rows)
        else:
            raise BadRequest(f"only the mirror of a job on another machine takes {request.op}")

    def _put(self, connection: Connection, _request: Write, data: bytes) -> None:
        connection.answer(ok=True, written=0, closed=True, complete=not data, eof=False)

    def _say_terminal(self, connection: Connection) -> None:
        connection.answer(ok=False, code="not_a_pty", message="the job has no terminal")

    def _resize(self, connection: Connection, _cols: int, _rows: int) -> None:
        self._say_terminal(connection)


def _data(file: int) -> bytes:
    """Return what a client wants written. Errors: BadRequest."""
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_size > limits.MAX_STDIN_WRITE_BYTES:
            raise BadRequest(f"data is a file of at most {limits.MAX_STDIN_WRITE_BYTES:,} bytes")
        return fds.read_all(file)
    except OSError as error:  # it was not opened for reading
        raise BadRequest(f"the data cannot be read: {error.strerror}") from None


class Input(NoInput):
    """The input of a job with an open stdin or a terminal. `tell(type, **content)` records events."""

    def __init__(
        self,
        job: JobDir,
        loop: EventLoop,
        job_fds: JobFds,
        pump: Pump,
        members: Members,
        record: JobRecord,
        tell: Callable[..., None],
    ) -> None:
        state = record.state
        self._fds = job_fds
        self._pump = pump
        self._job_record = record
        self._tell_history = tell
        self._terminal: Terminal | None = None
        self._feed: Feed
        if job_fds.master is not None:
            known = state.terminal if state.adopted else None
            self._terminal = Terminal(job, loop, job_fds.master, known, self._record)
            self._feed = TerminalFeed(loop, job_fds.master, self._on_input)
        else:
            assert job_fds.stdin is not None
            self._feed = PipeFeed(loop, job_fds.stdin, job_fds.escrow.stdin, self._on_input, self._on_closed)
        self._prompts: PromptDetector | None = None
        if job_fds.slave is not None or job_fds.stdin is not None:
            self._prompts = PromptDetector(
                loop, self._target(), pump, pids=members.pids, modes=self._modes, on_change=self._on_waiting
            )

    def _on_waiting(self, waiting: InputWait | None, prompt: str) -> None:
        self._job_record.write_if_running(waiting=waiting)
        if waiting is not None:
            echo = waiting.echo is None or waiting.echo or not waiting.canonical
            self._tell_history(history.INPUT, echo=echo, prompt=prompt)

    def _on_closed(self) -> None:
        self._job_record.write_if_running(stdin="closed")

    def _target(self) -> blocked_reads.Target:
        if self._fds.slave is not None:
            return blocked_reads.Target(pipe=None, terminal=os.fstat(self._fds.slave).st_rdev)
        assert self._fds.stdin is not None
        pipe = os.fstat(self._fds.stdin)  # both ends of a pipe are one inode
        return blocked_reads.Target(pipe=(pipe.st_dev, pipe.st_ino), terminal=None)

    def start(self) -> None:
        if self._terminal is not None and self._terminal.record() != self._job_record.state.terminal:
            self._record()
        if self._fds.data is not None:
            self._feed.put_file(self._fds.data)
        if self._prompts is not None:
            self._prompts.start()

    def end(self) -> None:
        if self._prompts is not None:
            self._prompts.stop()
        self._feed.close()
        self._fds.close_slave()

    def output(self) -> None:
        self.look()
        if self._prompts is not None:
            self._prompts.output()

    def look(self) -> None:
        if self._terminal is not None:
            self._terminal.look()

    def _on_input(self) -> None:
        if self._prompts is not None:
            self._prompts.input()

    def _modes(self) -> pty.Modes | None:
        return None if self._fds.master is None else pty.modes(self._fds.master)

    def _record(self) -> None:
        if self._terminal is not None:
            self._job_record.write_if_running(terminal=self._terminal.record())

    # --- requests ---

    def _put(self, connection: Connection, request: Write, data: bytes) -> None:
        self._feed.put(data, eof=request.eof, connection=connection, wait_s=request.wait_s)

    def _say_terminal(self, connection: Connection) -> None:
        if self._terminal is None:
            super()._say_terminal(connection)
        else:
            decided = self._prompts is None or self._prompts.is_decided
            pollers = () if self._prompts is None else self._prompts.pollers
            begun = self._feed.line_bytes if isinstance(self._feed, TerminalFeed) else 0
            unread = 0 if self._fds.slave is None else pty.unread(self._fds.slave)
            connection.answer(
                ok=True,
                **self._terminal.facts(),
                decided=decided,
                line_bytes=begun,
                unread=unread,
                polled_by=[*pollers],
            )

    def _resize(self, connection: Connection, cols: int, rows: int) -> None:
        if self._terminal is None:
            super()._resize(connection, cols, rows)
            return
        self._pump.take_what_is_there()  # it was written for the old size
        try:
            self._terminal.resize(cols, rows, self._pump.end)
        except (OSError, termios.error) as error:
            connection.answer(ok=False, code="io_error", message=str(error))
            return
        self._tell_history(history.RESIZED, cols=cols, rows=rows)
        connection.answer(ok=True, cols=cols, rows=rows)
