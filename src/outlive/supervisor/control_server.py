"""The control socket: a client that may open the job's directory can send requests to its
supervisor, and wait for news.

One SEQPACKET connection a reader. It sends JSON objects with `op`; it gets an answer object for
each, and in between one-byte hints: `o` there is output, `s` the state changed. A hint says "look",
never what there is to see: the truth is in the files, and end of file means "look, and connect
again".
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from outlive import __version__, limits
from outlive.store.job_dir import CONTROL, JobDir
from outlive.supervisor.control_requests import BadRequest, ControlRequest, Ping, Watch, checked
from outlive.supervisor.event_loop import EventLoop
from outlive.system import fds

OUTPUT, STATE = b"o", b"s"
_ACCEPT_AGAIN_S = 0.2


def listen(job: JobDir) -> socket.socket:
    """Bind the socket in the job's directory, in place of a dead supervisor's."""
    name = os.path.basename(CONTROL)
    sock = fds.new_socket()
    old = os.umask(0o177)
    try:
        with fds.Closing(job.open_io()) as io:  # a job may have put a link in place of the directory
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=io)
            sock.bind(fds.socket_path(io, name))
        sock.listen(limits.LISTEN_BACKLOG)
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    finally:
        os.umask(old)
    return sock


class Connection:
    """One client."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.wants_output = False  # whether it gets hints about output too, not only about changes of the state

    def tell(self, message: bytes) -> None:
        """Send a message, or drop it: a full queue holds a hint already, and this must not block."""
        with suppress(OSError):
            fds.send(self.sock, message)

    def answer(self, /, **content: Any) -> None:
        self.tell(json.dumps(content).encode())


class ControlServer:
    """All clients of one job. `serve` handles a checked request: (connection, request, fds);
    `on_fault` records an exception that it raised; `on_quiet` is called when the last client has hung
    up."""

    def __init__(
        self,
        loop: EventLoop,
        listener: socket.socket,
        serve: Callable[[Connection, ControlRequest, list[int]], None],
        on_fault: Callable[[Exception], None],
        on_quiet: Callable[[], None] = lambda: None,
    ) -> None:
        self._loop = loop
        self._listener = listener
        self._serve = serve
        self._on_fault = on_fault
        self._on_quiet = on_quiet
        self._connections: dict[int, Connection] = {}
        self._hinted = 0.0
        self._hint = loop.timer(self._hint_output)
        self._accept_again = loop.timer(loop.read, listener.fileno(), self._accept)
        loop.read(listener.fileno(), self._accept)

    def add(self, sock: socket.socket) -> None:
        connection = Connection(sock)
        self._connections[sock.fileno()] = connection
        self._loop.read(sock.fileno(), lambda: self._receive(connection))

    def output(self) -> None:
        """Hint at new output. Hints are spaced: a client that gets one has to read anyway."""
        if not self._connections or self._hint.is_set:
            return
        wait = limits.HINT_INTERVAL_S - (time.monotonic() - self._hinted)
        if wait > 0:
            self._hint.after(wait)
        else:
            self._hint_output()

    @property
    def is_heard(self) -> bool:
        return bool(self._connections)

    def state(self) -> None:
        for connection in list(self._connections.values()):
            connection.tell(STATE)

    def _hint_output(self) -> None:
        self._hinted = time.monotonic()
        for connection in list(self._connections.values()):
            if connection.wants_output:
                connection.tell(OUTPUT)

    def _accept(self) -> None:
        try:
            sock = fds.accept(self._listener)
        except BlockingIOError:  # gone again
            return
        except OSError:  # no fd left: it stays readable, so look away for a while
            self._loop.forget(self._listener.fileno())
            self._accept_again.after(_ACCEPT_AGAIN_S)
            return
        self.add(sock)

    def _receive(self, connection: Connection) -> None:
        try:
            message, files = fds.receive(connection.sock, limits.CONTROL_BYTES)
        except BlockingIOError:
            return
        except OSError:
            message, files = b"", []
        if not message:
            for fd in files:
                os.close(fd)
            self._drop(connection)
            if not self._connections:
                self._on_quiet()
            return
        try:
            request = checked(message)
            if isinstance(request, Watch):
                connection.wants_output = request.output
                connection.tell(STATE)  # no hint told of what happened between its last look and now
            elif isinstance(request, Ping):
                connection.answer(ok=True, version=__version__)
            else:
                self._serve(connection, request, files)
        except BadRequest as error:
            connection.answer(ok=False, code="invalid_argument", message=str(error))
        except Exception as error:  # noqa: BLE001 - no request may cost the job its supervisor
            self._on_fault(error)
            connection.answer(ok=False, code="internal_error", message=f"{type(error).__name__}: {error}"[:400])
        finally:
            for fd in files:
                os.close(fd)

    def _drop(self, connection: Connection) -> None:
        self._loop.forget(connection.sock.fileno())
        self._connections.pop(connection.sock.fileno(), None)
        connection.sock.close()

    def close(self) -> None:
        """Hang up on every client: end of file tells it to look."""
        for connection in list(self._connections.values()):
            self._drop(connection)
        self._accept_again.cancel()
        self._loop.forget(self._listener.fileno())
        self._listener.close()
