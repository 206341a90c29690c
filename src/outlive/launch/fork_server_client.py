"""The server's side of its fork server.

A long-lived server does not fork pairs itself: it is large and may have threads. It starts a small
fork server outside its own process tree, which keeps one warm pair; a start is then one message and
one posix_spawn. The fork server ends with its server. It lends some pairs to the server. When the
job of such a pair is over, the server gives the pair the next job itself, and nothing is forked.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time

import outlive
from outlive import limits
from outlive.supervisor.fork_protocol import LEND, Pair
from outlive.system import code_archive, fault_points, fds
from outlive.system.fds import Closing
from outlive.system.interpreter import without_site

LENT_PAIRS = 16  # idle pairs of a server that wait for another job

_SOCKET_FD = 3
# The fork server leaves the server's process tree before it imports anything
_CODE = "import os\nif os.fork(): os._exit(0)\nos.setsid()\n"
_archive = -1  # of all code of ours, once `start` was called
_PADDING = " " * 64  # argv is where the name in the process table is written


class Launcher:
    """Start jobs through a fork server, which is started again if it was killed. Any thread may call it."""

    def __init__(self) -> None:
        self._sock: socket.socket | None = None
        self._middle: int | None = None  # the process between this one and the fork server
        self._lent: list[Pair] = []  # their jobs run
        self._free: list[Pair] = []
        self._asked = 0  # pairs that were asked for and not lent yet
        self._lock = threading.Lock()
        self._start()

    def _start(self) -> None:
        here, there = fds.pair()
        argv = interpreter("main", before=_CODE)
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        with contextlib.closing(there), Closing(null):
            moves = [(os.POSIX_SPAWN_DUP2, old, new) for old, new in ((null, 0), (code_file(null), 1), (null, 2))]
            moves.append((os.POSIX_SPAWN_DUP2, there.fileno(), _SOCKET_FD))
            # No environment: it needs none, and an outer job's cookie would make the fork server
            # part of that job
            self._middle = os.posix_spawn(argv[0], argv, fault_points.carried(), file_actions=moves)
        self._sock = here

    def send(self, files: dict[str, int]) -> None:
        """Hand a job to a pair, a free one if possible. `files` as in `Pair.send`. Errors: OSError."""
        with self._lock:
            self._reap_middle()
            self._look()
            while self._free:
                pair = self._free.pop()
                try:
                    pair.send(files)
                except OSError as error:
                    pair.close()
                    if not isinstance(error, BrokenPipeError | ConnectionResetError):
                        raise
                    continue  # the pair was killed while it waited: nothing was taken
                self._lent.append(pair)
                break
            else:
                self._ask(files)
            self._revive()

    def _revive(self) -> None:
        """Start another fork server if this one was killed, though a free pair takes the next jobs
        too: when there is none, a start should find it warm."""
        if self._sock is None or not fds.poll(self._sock.fileno(), 0):
            return
        self._borrow()  # what it has lent outlives it
        self._sock.close()
        self._sock, self._asked = None, 0
        with contextlib.suppress(OSError):  # the job of this call has started; the next call that needs it reports why
            self._start()
            self._reap_middle()

    def _look(self) -> None:
        """Take note of lent pairs that are free for another job, and of those that ended."""
        self._borrow()
        for pair in list(self._lent):
            free = pair.is_free()
            if free is None:
                continue
            self._lent.remove(pair)
            if free:
                self._free.append(pair)
            else:
                pair.close()

    def _borrow(self) -> None:
        """Take the pairs that the fork server has lent since the last look."""
        with contextlib.suppress(OSError):  # no answer yet; or the fork server was killed, and the next request notices
            while self._sock is not None and self._asked:
                pair = Pair.borrowed(self._sock)
                self._asked -= 1
                if pair is not None:
                    self._lent.append(pair)

    def _ask(self, files: dict[str, int]) -> None:
        # No pair is free now
        lend = [LEND] if len(self._lent) + self._asked < LENT_PAIRS else []
        message, numbers = ",".join([*files, *lend]).encode(), tuple(files.values())
        for last in (False, True):
            if self._sock is None:
                self._start()
                self._reap_middle()
            assert self._sock is not None
            try:
                fds.send(self._sock, message, numbers)
                self._asked += len(lend)
                return
            except (
                BrokenPipeError,
                ConnectionResetError,
            ):  # the fork server was killed: nothing was taken, so try once more
                self._sock.close()
                self._sock, self._asked = None, 0
                if last:
                    raise

    def _reap_middle(self) -> None:
        """Reap the process that forked the fork server; it is a child of this one for some milliseconds."""
        if self._middle is None:
            return
        deadline = time.monotonic() + limits.CONTROL_S
        while time.monotonic() < deadline:
            try:
                done, _ = os.waitpid(self._middle, os.WNOHANG)
            except ChildProcessError:
                break
            if done:
                break
            time.sleep(0.001)
        self._middle = None

    def close(self) -> None:
        """Let the fork server and the pairs that wait end; jobs do not notice."""
        if self._sock is not None:
            self._sock.close()
            self._sock = None
        for pair in (*self._lent, *self._free):
            pair.close()
        self._lent, self._free = [], []
        self._reap_middle()


def interpreter(function: str, before: str = "") -> list[str]:
    """Return the argv of an interpreter that calls this function of `fork_server`. Its fd 1 must be
    a `code_file`."""
    place = os.path.dirname(outlive.DIRECTORY) if _archive < 0 else code_archive.path_of(1)
    return [*without_site("outlive.launch.fork_server", function, place, before), _PADDING]


def code_file(otherwise: int) -> int:
    """Return an open file with the code of a server, as it was when the server called `start`. A process that made
    none starts its interpreter at once, from the files: then it is `otherwise`."""
    return otherwise if _archive < 0 else _archive


def start() -> Launcher:
    """Start a fork server in the background. The server that calls this, which has one thread yet, goes on with the
    code that lies on disk now. Errors: OSError."""
    global _archive
    if _archive < 0:
        fd = fds.memory_file("outlive", b"")
        try:
            code_archive.write_in_fork(fd, "outlive")
        except OSError:
            os.close(fd)
            raise
        code_archive.import_from(fd, "outlive")
        _archive = fd
    return Launcher()
