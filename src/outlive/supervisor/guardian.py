"""The guardian: it forks its supervisor, sleeps until that ends, and goes on with the job if it was
killed.

Guardian and supervisor are a pair. Both are forked before they know a job. What the guardian would
need to go on with a job lies in its socket, held by the kernel, from before the start until the job
is over. Only after the death of the supervisor does the guardian read it: from the start to the end
of a job nothing wakes the guardian, unless the job needs large code (large_code.py). The
supervisor has the guardian's end of the socket too, and takes the message out when the job is over.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from functools import partial

from outlive.store.job_dir import SUPERVISOR_BYTE, JobDir
from outlive.supervisor import large_code
from outlive.supervisor.fork_protocol import MESSAGE_BYTES, Pair, read
from outlive.supervisor.job_fds import Escrow
from outlive.supervisor.pair_supervisor import PairSupervisor, keep_house, last_message
from outlive.supervisor.request import Request, report_fault
from outlive.supervisor.starting import takeover
from outlive.supervisor.supervisor import SURVIVED
from outlive.system import daemonize, fault_points, fds, locks, oom, prctl, signals, tree


def fork_pair(*, away: bool) -> Pair:
    """Fork a guardian and its supervisor. With `away` the guardian is not a child of the caller, and the
    pair takes one job. Otherwise the caller is a fork server: it reaps the guardian, and the pair is a
    lasting one. Errors: OSError."""
    pair, guardian_end, supervisor_end = Pair.new()
    fork = daemonize.fork_away if away else partial(daemonize.fork_into, clean=True)
    try:
        fork_guardian(guardian_end, supervisor_end, fork, lasting=not away)
    except OSError:
        pair.close()
        raise
    finally:
        guardian_end.close()
        supervisor_end.close()
    return pair


def fork_guardian(
    sock: socket.socket,
    supervisor_sock: socket.socket,
    fork: Callable[..., object] = daemonize.fork_into,
    *,
    lasting: bool = False,
    ready_to_guard: Callable[[], None] = lambda: None,
) -> None:
    """Fork a guardian that gets its jobs through `sock`; its supervisor gets them through
    `supervisor_sock`.

    `fork` is a function of `daemonize`. `lasting`: more than one job may come. `ready_to_guard` is
    called in the guardian once its supervisor exists.
    """
    keep = {sock.fileno(), supervisor_sock.fileno()}
    fork(lambda: _guard(sock, supervisor_sock, lasting, ready_to_guard), keep, tree.GUARDIAN)


def _guard(
    sock: socket.socket, supervisor_sock: socket.socket, lasting: bool, ready_to_guard: Callable[[], None]
) -> int:
    """Run the guardian's whole life."""
    signals.survive(SURVIVED)
    prctl.become_subreaper()
    oom.spare()
    escrow = Escrow()
    # End of file on `line` means that the supervisor has ended
    line, line_there = fds.pair()
    keep = {sock.fileno(), supervisor_sock.fileno(), line_there.fileno()} | escrow.filenos()

    def body() -> int:
        return PairSupervisor(supervisor_sock, sock, line_there, escrow).run(lasting=lasting)

    child = daemonize.fork_into(body, keep, tree.SUPERVISOR, clean=True)
    ready_to_guard()
    supervisor_sock.close()
    line_there.close()
    _outlast(child, sock, line, escrow)
    return 0


def _outlast(child: int, sock: socket.socket, line: socket.socket, escrow: Escrow) -> None:
    """Wait for the end of the supervisor `child`, and go on with its job if it was killed."""
    request: Request | None = None
    try:
        while line.recv(1, fds.PEEK):  # end of file: the supervisor has ended
            _, (number,) = fds.receive(line, MESSAGE_BYTES)
            request = Request.from_file(number)
            os.close(number)
            large_code.load(large_code.missing(request.definition, request.parts))
            fault_points.at("guardian_told")
        # Nothing else is waited for: the supervisor's children become children of this process when
        # it dies
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) == 0:
            return
        message, numbers = last_message(sock)
        sock.close()  # a launcher that does not know which process has its job hears this
        if not message:
            return
        files, _ = read(message, numbers)
        request = Request.from_file(files["request"])
        locks_held = _succeed(request, files, escrow)
        for lock in (files["lock1"], *locks_held):  # the job is over, and with it the sign of its life
            os.close(lock)
        keep_house(request)
    except Exception as error:
        report_fault(request, "guardian", error)
        raise


def _succeed(request: Request, files: dict[str, int], escrow: Escrow) -> list[int]:
    """Go on with the job of a supervisor that was killed. Return the locks that are still held then."""
    fault_points.succeed()
    fault_points.at("takeover_seen")
    try:
        job = request.open_job()
    except FileNotFoundError:  # the launcher took it back: nothing ran
        return []
    lock = _lock(job, files["lock1"])
    # A launcher that has not heard of the death yet still holds the byte, for milliseconds
    locks.wait_for(lock, SUPERVISOR_BYTE)
    fault_points.at("takeover_locked")
    if job.is_in_place():
        takeover.take_over(job, request, {**files, "lock0": lock}, escrow)
    return [lock]


def _lock(job: JobDir, own: int) -> int:
    """Open the lock of the job. `own`: the guardian's, which takes its place on a disk that became read-only."""
    try:
        return job.open_lock()
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        return os.dup(own)
