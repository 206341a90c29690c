"""A command line forks the pair itself: it is small, has one thread, and is gone soon."""

from __future__ import annotations

import gc
import os

from outlive.supervisor.fork_protocol import Pair
from outlive.system import fds

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket


class Launcher:
    """Starts pairs as nobody's children."""

    def __init__(self) -> None:
        self._early: tuple[int, Pair] | None = None

    def prepare(self) -> None:
        """Fork the next pair now: it loads what a supervisor needs while its caller still loads what an answer needs, and
        keeps nothing of that for the life of the job. A pair that gets no job ends with this process."""
        if self._early is not None:
            return
        _load_what_both_need()
        socks: list[socket.socket] = []
        try:
            socks += fds.pair()
            socks += fds.pair()
            middle = os.fork()
        except OSError:  # then `send` tries again, and says so
            for sock in socks:
                sock.close()
            return
        guardian_here, guardian_there, supervisor_here, supervisor_there = socks
        if middle == 0:
            _become_pair(guardian_there, supervisor_there)
        guardian_there.close()
        supervisor_there.close()
        self._early = middle, Pair(guardian_here, supervisor_here)

    def blank(self) -> None:
        """Nothing is made ahead for one job."""

    def send(self, files: dict[str, int]) -> None:
        """Hand a job to a new pair. `files` as in `Pair.send`. Errors: OSError (no process could be made)."""
        if self._early is not None and self._send_early(files):
            return
        from outlive.supervisor.guardian import fork_pair

        pair = fork_pair(away=True)
        try:
            pair.send(files)
        finally:
            pair.close()

    def _send_early(self, files: dict[str, int]) -> bool:
        """False: there will be no such pair, and nothing was taken. It need not be there yet: what is sent waits for it, and
        the job is held by it from now on."""
        assert self._early is not None
        middle, pair = self._early
        self._early = None
        try:
            pair.send(files)
            sent = True
        except (BrokenPipeError, ConnectionResetError):
            sent = False
        try:
            return (_ended_well(middle) or pair.was_taken()) and sent
        finally:
            pair.close()

    def close(self) -> None:
        """Nothing is kept."""


def _load_what_both_need() -> None:
    """On one core before the fork instead of on both behind it, and in pages that pair and caller share."""
    from outlive.store import inspect  # noqa: F401
    from outlive.supervisor import request  # noqa: F401


def _ended_well(middle: int) -> bool:
    """Has it forked the guardian, as far as its status tells? Else only whether the job was taken does: it may have been
    killed when it had, and a job that is given away twice runs twice."""
    try:
        _, status = os.waitpid(middle, 0)
    except ChildProcessError:  # our own caller ignores SIGCHLD, so the kernel has reaped it (wait(2))
        return False
    return status == 0


def _become_pair(sock: socket.socket, supervisor_sock: socket.socket) -> None:
    """The life of the process between: leave first, so that nobody's pipe stays open and no ^C reaches us, then load."""
    code = 1
    gc.disable()
    try:
        os.setsid()
        fds.null_stdio()
        fds.close_others({sock.fileno(), supervisor_sock.fileno()})
        from outlive.supervisor.guardian import fork_guardian
        from outlive.system import daemonize, fault_points

        gc.freeze()
        gc.enable()
        fault_points.at("pair_unforked")
        fork_guardian(sock, supervisor_sock, daemonize.fork_into, spare=True)
        fault_points.at("pair_forked")
        code = 0
    finally:
        os._exit(code)
