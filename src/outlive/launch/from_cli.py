"""A command line forks guardian and supervisor itself: it is small, has one thread, and ends soon."""

from __future__ import annotations

import gc
import os
import socket
from contextlib import closing
from importlib import import_module
from types import ModuleType

from outlive.supervisor.fork_protocol import Pair
from outlive.system import fault_points, fds

# What pair and caller both need: loaded before the fork, into pages that they share. Most verbs start nothing, and load none
_SHARED = ("store.inspection.inspect", "store.output.merged", "supervisor.request")


class Launcher:
    """Start pairs that are no children of this process."""

    def __init__(self) -> None:
        self._early: tuple[int, Pair] | None = None

    def prepare(self) -> None:
        """Fork the next pair now. It loads what a supervisor needs while this process still loads what an
        answer needs, and keeps nothing of the latter for the life of the job. A pair that gets no job
        ends with this process."""
        if self._early is not None:
            return
        for name in _SHARED:
            import_module(f"outlive.{name}")
        fds.open_standard()  # else a socket of ours would get one of their numbers
        try:
            pair, guardian_end, supervisor_end = Pair.new()
        except OSError:  # then `send` tries again, and raises
            return
        try:
            middle = os.fork()
            if middle == 0:
                _become_pair(guardian_end, supervisor_end)
            self._early = middle, pair
        except OSError:
            pair.close()
        finally:
            guardian_end.close()
            supervisor_end.close()

    def send(self, files: dict[str, int]) -> None:
        """Hand a job to a new pair. `files` as in `Pair.send`. Errors: OSError (no process could be made)."""
        if self._early is not None and self._send_early(files):
            return
        with closing(_guardian().fork_pair(away=True)) as pair:
            pair.send(files)

    def _send_early(self, files: dict[str, int]) -> bool:
        """Hand a job to the pair that was forked early, which need not exist yet: what is sent waits for
        it, and with it the job's locks. Return False if there will be no such pair, and nothing was taken."""
        assert self._early is not None
        middle, pair = self._early
        self._early = None
        try:
            pair.send(files)
            sent = True
        except (BrokenPipeError, ConnectionResetError):
            sent = False
        with closing(pair):
            return (_ended_well(middle) or pair.was_taken()) and sent

    def close(self) -> None:
        """Do nothing: nothing is kept open."""


def _ended_well(middle: int) -> bool:
    """Return whether the process between has forked the guardian, as far as its exit status tells.

    If it was killed, it may have forked the guardian before. Only whether the job was taken tells
    that; a job that is handed over twice would run twice.
    """
    try:
        _, status = os.waitpid(middle, 0)
    except ChildProcessError:  # the caller of this process ignores SIGCHLD, so the kernel has reaped it (wait(2))
        return False
    return status == 0


def _guardian() -> ModuleType:
    from outlive.supervisor import guardian  # late: 6 ms, which the pair spends: the caller needs none of it

    return guardian


def _become_pair(sock: socket.socket, supervisor_sock: socket.socket) -> None:
    """Fork the guardian, as the process between. It leaves the caller's session and files first, so
    that no pipe stays open and no ^C reaches it, and imports after that."""
    code = 1
    gc.disable()
    try:
        os.setsid()
        fds.null_stdio()
        fds.close_others({sock.fileno(), supervisor_sock.fileno()})
        guardian = _guardian()
        gc.freeze()
        gc.enable()
        fault_points.at("pair_unforked")
        guardian.fork_guardian(sock, supervisor_sock)
        fault_points.at("pair_forked")
        code = 0
    finally:
        os._exit(code)
