"""The input of a job: its stdin or its terminal, and whether the job waits for input.

`feed.py` is apart from this module because it is imported late: most jobs take no input.
"""

from __future__ import annotations

import os
import stat
import termios

from outlive import limits
from outlive.core.records import watches_of
from outlive.store import history
from outlive.supervisor.control_requests import BadRequest
from outlive.system import fds, held_code, pty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from outlive.core.records import State
    from outlive.store.job_dir import JobDir
    from outlive.supervisor.control_server import Connection
    from outlive.supervisor.event_loop import EventLoop
    from outlive.supervisor.input.feed import Feed
    from outlive.supervisor.input.prompt_detector import PromptDetector
    from outlive.supervisor.input.terminal import Terminal
    from outlive.supervisor.job_fds import JobFds
    from outlive.supervisor.output.pump import Pump
    from outlive.supervisor.request import Request
    from outlive.system import blocked_reads


def preload(request: Request) -> bool:
    """Import what the job of this request will need beyond what every job needs: later the files on
    disk may be another version's. Return whether that was anything.
    """
    definition = request.definition
    watched = _is_watched(definition)
    given = any(definition.get(name) for name in ("pty", "sandbox", "resources", "mask"))
    if not (given or watched or request.audit is not None or definition.get("stdin") == "open"):
        return False
    if request.audit is not None:
        held_code.hold("outlive.store.audit")
    if definition.get("pty") or definition.get("stdin") == "open":
        import outlive.supervisor.input.feed
        import outlive.supervisor.input.prompt_detector
        import outlive.supervisor.input.terminal
    if definition.get("sandbox") is not None:
        import outlive.sandbox.session
        import outlive.sandbox.sink_file
    if definition.get("resources") is not None:
        import outlive.supervisor.resources.apply
        import outlive.supervisor.resources.watch
        import outlive.system.spawn_limited
    if definition.get("pty"):
        held_code.hold("outlive.render")  # for the fork that looks for the cursor
    if definition.get("mask"):
        import outlive.supervisor.output.masking
    if watched:
        try:
            import re2  # noqa: F401

            import outlive.supervisor.events.delivery
            import outlive.supervisor.events.hits  # noqa: F401
        except ImportError:  # then the job runs without its watches, which an event says
            pass
    return True


def _is_watched(definition: dict[str, Any]) -> bool:
    try:
        return bool(watches_of(definition.get("notification") or {}))
    except (KeyError, TypeError, AttributeError):  # the job has spoilt its own definition, which an event says later
        return False


class Input:
    """The input of one job. `write(**changes)` records changes of the state, `tell(type,
    **content)` events.

    A job with neither an open stdin nor a terminal has no prompt detector, and its input costs
    nothing.
    """

    def __init__(
        self,
        job: JobDir,
        loop: EventLoop,
        job_fds: JobFds,
        pump: Pump,
        *,
        pids: Callable[[], Iterable[int]],
        state: State,
        write: Callable[..., None],
        tell: Callable[..., None],
    ) -> None:
        self._loop = loop
        self._fds = job_fds
        self._pump = pump
        self._write = write
        self._tell_history = tell
        self._recorded = state.terminal
        self._terminal: Terminal | None = None
        self._watch: PromptDetector | None = None
        if job_fds.master is not None:
            # Late, as below: most jobs take no input, and 3 ms of a command line's start are saved
            from outlive.supervisor.input.terminal import Terminal

            known = state.terminal if state.adopted else None
            self._terminal = Terminal(job, loop, job_fds.master, known, self._record)
        self._feed = self._make_feed()
        if job_fds.slave is not None or job_fds.stdin is not None:
            self._watch = self._make_watch(pids)

    def _make_watch(self, pids: Callable[[], Iterable[int]]) -> PromptDetector:
        from outlive.supervisor.input.prompt_detector import PromptDetector

        return PromptDetector(
            self._loop,
            self._target(),
            pids=pids,
            last_bytes=self._pump.last_bytes,
            end=lambda: self._pump.end,
            modes=self._modes,
            quiet_since=lambda: self._pump.last_output,
            on_change=self._on_waiting,
        )

    def _on_waiting(self, waiting: dict[str, Any] | None, prompt: str) -> None:
        self._write(waiting=waiting)
        if waiting is not None:
            echo = waiting["echo"] is None or waiting["echo"] or not waiting["canonical"]
            self._tell_history(history.INPUT, echo=echo, prompt=prompt)

    def _make_feed(self) -> Feed | None:
        job_fds = self._fds
        if job_fds.master is None and job_fds.stdin is None:
            return None
        from outlive.supervisor.input.feed import PipeFeed, TerminalFeed

        if job_fds.master is not None:
            return TerminalFeed(self._loop, job_fds.master, self._on_input)
        assert job_fds.stdin is not None
        return PipeFeed(
            self._loop, job_fds.stdin, job_fds.stdin_escrow, self._on_input, lambda: self._write(stdin="closed")
        )

    def _target(self) -> blocked_reads.Target:
        from outlive.system import blocked_reads

        if self._fds.slave is not None:
            return blocked_reads.Target(pipe=None, terminal=pty.device_of(self._fds.slave))
        assert self._fds.stdin is not None
        found = os.fstat(self._fds.stdin)  # both ends of a pipe are one inode
        return blocked_reads.Target(pipe=(found.st_dev, found.st_ino), terminal=None)

    def start(self) -> None:
        """Feed the first data, and begin to look for prompts."""
        if self._terminal is not None and self._terminal.record() != self._recorded:
            self._record()
        if self._fds.data is not None and self._feed is not None:
            self._feed.put_file(self._fds.data)
        if self._watch is not None:
            self._watch.start()

    def end(self) -> None:
        """Close the input after the end of the command. What it left behind keeps the terminal."""
        if self._watch is not None:
            self._watch.stop()
        if self._feed is not None:
            self._feed.close()
        self._fds.close_slave()

    def output(self) -> None:
        self.look()
        if self._watch is not None:
            self._watch.output()

    def look(self) -> None:
        """Read what the program asks its terminal."""
        if self._terminal is not None:
            self._terminal.look()

    def _on_input(self) -> None:
        if self._watch is not None:
            self._watch.input()

    def _modes(self) -> pty.Modes | None:
        return None if self._fds.master is None else pty.modes(self._fds.master)

    def _record(self) -> None:
        if self._terminal is not None:
            self._write(terminal=self._terminal.record())

    # --- requests ---

    def serve(self, connection: Connection, request: dict[str, Any], files: list[int]) -> None:
        """Do what a checked write, terminal or resize asks for. Errors: BadRequest."""
        if request["op"] == "write":
            self._take(connection, request, files)
        elif request["op"] == "terminal":
            self._tell(connection)
        elif request["op"] == "resize":
            self._resize(connection, request["cols"], request["rows"])
        else:
            raise BadRequest(f"only the mirror of a job on another machine takes {request['op']}")

    def _take(self, connection: Connection, request: dict[str, Any], files: list[int]) -> None:
        data = _data(files[0]) if files else b""
        if self._feed is None:
            connection.answer(ok=True, written=0, closed=True, complete=not data, eof=False)
        else:
            self._feed.put(data, eof=request["eof"], connection=connection, wait_s=request["wait_s"])

    def _tell(self, connection: Connection) -> None:
        if self._terminal is None:
            connection.answer(ok=False, code="not_a_pty", message="the job has no terminal")
        else:
            connection.answer(ok=True, **self._terminal.facts())

    def _resize(self, connection: Connection, cols: int, rows: int) -> None:
        if self._terminal is None:
            self._tell(connection)
            return
        self._pump.take_what_is_there()  # it was written for the old size
        try:
            self._terminal.resize(cols, rows, self._pump.end)
        except (OSError, termios.error) as error:
            connection.answer(ok=False, code="io_error", message=str(error))
            return
        self._tell_history(history.RESIZED, cols=cols, rows=rows)
        connection.answer(ok=True, cols=cols, rows=rows)


def _data(file: int) -> bytes:
    """Return what a client wants written. Errors: BadRequest."""
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_size > limits.MAX_STDIN_WRITE_BYTES:
            raise BadRequest(f"data is a file of at most {limits.MAX_STDIN_WRITE_BYTES:,} bytes")
        return fds.read_all(file)
    except OSError as error:  # it was not opened for reading
        raise BadRequest(f"the data cannot be read: {error.strerror}") from None
