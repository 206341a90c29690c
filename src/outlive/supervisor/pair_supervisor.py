"""The supervisor process of a pair: it waits for a job, sees it to its end, and waits for the next
one.

A lasting pair, which a fork server forks, takes another job when one is over and left nothing
behind: forking and ending two processes takes as long as a short job.
"""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import Callable
from contextlib import suppress

from outlive import parts
from outlive.supervisor import large_code
from outlive.supervisor.fork_protocol import FREE, MESSAGE_BYTES, PREPARE, read, ready
from outlive.supervisor.job_fds import Escrow
from outlive.supervisor.request import Request, report_fault
from outlive.supervisor.starting import takeover
from outlive.supervisor.starting.start import start
from outlive.system import fault_points, fds, prctl, signals, tree

PAIR_IDLE_S = 60.0  # a pair ends when it has waited so long for another job
PAIR_JOBS = 500  # a pair ends after this many jobs: no leak of a library may grow for weeks
_HOUSEKEEPING = parts.loaded(parts.HOUSEKEEPING)  # now: an update may replace its files
_SHUT_RD = 0  # sys/socket.h


class PairSupervisor:
    """The jobs of one supervisor process, one after the other.

    They come through `sock`. `guard` is the guardian's end of its socket, which has what the
    guardian would need of the present job. `line` leads to the guardian.
    """

    def __init__(self, sock: socket.socket, guard: socket.socket, line: socket.socket, escrow: Escrow) -> None:
        self._sock = sock
        self._guard = guard
        self._line = line
        self._escrow = escrow
        self._own = {one.fileno() for one in (sock, guard, line)} | escrow.filenos()
        self._request: Request | None = None
        prctl.become_subreaper()

    def run(self, *, lasting: bool) -> int:
        """See every job of the pair to its end, and return the exit status. `lasting`: more than one may come."""
        try:
            self._all() if lasting else self._one()
        except Exception as error:
            report_fault(self._request, "supervisor", error)
            raise
        return 0

    def _one(self) -> None:
        message, numbers = fds.receive(self._sock, MESSAGE_BYTES)
        self._own.discard(self._sock.fileno())
        self._sock.close()
        if message:
            self._see_through(message, numbers)
            self._keep_house()

    def _all(self) -> None:
        idle_s = None  # a pair that had no job is the spare pair of its fork server
        for number in range(1, PAIR_JOBS + 1):
            message, numbers = self._next(idle_s)
            if not message:
                return
            plain = self._see_through(message, numbers)
            if self._keep_house() or not plain or number == PAIR_JOBS or tree.children(os.getpid()):
                return
            self._let_go()
            fault_points.at("free_cleared")
            try:
                fds.send(self._guard, FREE)
            except OSError:  # the launcher has ended, or keeps no pair
                return
            fault_points.at("free_said")
            idle_s = PAIR_IDLE_S

    def _next(self, idle_s: float | None) -> tuple[bytes, list[int]]:
        """Wait for the next job, and return its message; an empty one if none will come.

        None will come when the launcher has closed its end. After `idle_s`, and when the guardian
        was killed, this pair stops waiting: what a launcher sends from then on fails, and goes to
        another pair. A message that the guardian has by then is passed on to this process, which takes it.
        """
        if self._sock.fileno() not in ready(idle_s, self._sock, self._line):
            self._guard.shutdown(_SHUT_RD)
            if not fds.has_message(self._guard):
                return b"", []
        try:
            return fds.receive(self._sock, MESSAGE_BYTES)
        except ConnectionResetError:  # the launcher was killed
            return b"", []

    def _see_through(self, message: bytes, numbers: list[int]) -> bool:
        """See a job to its end. Return whether this process keeps nothing of it but open files and garbage."""
        files, _ = read(message, numbers)
        self._request = request = Request.from_file(files["request"])
        waiter = fds.socket_of(files["waiter"])
        missing = large_code.missing(request.definition, request.parts)
        if missing:
            self._tell_guardian(files["request"])  # first: both import at the same time
            large_code.load(missing)
        # lock0 stays open until the job is over: that is the sign of life
        if request.mode == "adopt":
            takeover.adopt(request, waiter, self._escrow, files)
            return False
        return start(request, files.get("stdin"), waiter, self._escrow, lock=files["lock0"])

    def _tell_guardian(self, request: int) -> None:
        with suppress(OSError):  # it was killed, or it is stopped and has not read the last ten
            fds.send(self._line, PREPARE, (request,), wait=False)

    def _keep_house(self) -> bool:
        """Return whether there was anything to do: this process takes no other job then."""
        assert self._request is not None
        return keep_house(self._request, self._let_go)

    def _let_go(self) -> None:
        """Be as before the job, which is over, and whose directory may be deleted from here on."""
        # What a takeover would go on with is first: the escrow may be emptied only when none comes
        with suppress(OSError):  # the launcher was killed, and had not read what was said to it
            fds.receive(self._guard, MESSAGE_BYTES, wait=False)  # its files are closed below
        self._escrow.empty()
        gc.collect()  # an object that is collected later would close a file of the next job
        signals.forget_wakeup()
        fds.close_others(self._own)
        prctl.rename(tree.SUPERVISOR)


def last_message(sock: socket.socket) -> tuple[bytes, list[int]]:
    """Return what was sent through `sock` and not received, an empty message if there is nothing.
    What is sent from here on fails at the sender."""
    sock.shutdown(_SHUT_RD)
    try:
        return fds.receive(sock, MESSAGE_BYTES)
    except ConnectionResetError:  # told once, of a launcher that was killed with an unread message
        return fds.receive(sock, MESSAGE_BYTES)


def keep_house(request: Request, before: Callable[[], None] = lambda: None) -> bool:
    """Do what a part does for other jobs, now that the job of `request` is over and no caller waits for this process. Return
    whether there was anything to do; `before` is called first then. Never raises."""
    if _HOUSEKEEPING is None or request.housekeeping is None:
        return False
    try:
        return bool(_HOUSEKEEPING.work(request, request.housekeeping, before))
    except Exception as error:  # noqa: BLE001 - the job is over, whatever is wrong with the others
        report_fault(request, "gc", error)
        return True
