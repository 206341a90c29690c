"""The requests about the input of a job, and the answers of a job that takes none."""

from __future__ import annotations

import os
import stat

from outlive import limits
from outlive.supervisor.control_requests import BadRequest, ControlRequest, GetTerminal, Resize, Write
from outlive.supervisor.control_server import Connection
from outlive.system import fds


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
