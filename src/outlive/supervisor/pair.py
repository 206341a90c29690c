"""Guardian and supervisor as two processes: forked together, told later what to do.

Both wait for one message each and end if none comes, so a pair can be kept ready. The guardian then sleeps until its
supervisor ends; if that was not the end of the job, it goes on with it. A lasting pair, which a nursery has forked, waits
for another job when one is over without anything left of it: to fork and to end two processes takes as long as a job.
"""

from __future__ import annotations

import gc
import json
import os
import select
from functools import partial

from outlive import limits
from outlive.errors import OutliveError
from outlive.job import Definition, State, timestamp
from outlive.store import blank, files
from outlive.store.jobdir import SUPERVISOR_BYTE
from outlive.supervisor import outcome, start
from outlive.supervisor.escrow import Escrow, adopt_socket
from outlive.supervisor.handover import FREE, Pair
from outlive.supervisor.input import preload
from outlive.supervisor.request import Request
from outlive.supervisor.supervise import SURVIVED
from outlive.system import crash, detach, fds, locks, oom, prctl, process, signals, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable


def fork_pair(*, away: bool) -> Pair:
    """Fork guardian and supervisor. `away`: as nobody's child; else the caller, a nursery, has to reap the guardian, and
    the pair lasts."""
    guardian_here, guardian_there = fds.pair()
    supervisor_here, supervisor_there = fds.pair()
    fork = detach.fork_away if away else partial(detach.fork_into, clean=True)
    try:
        fork_guardian(guardian_there, supervisor_there, fork, spare=not away, lasting=not away)
    except OSError:
        guardian_here.close()
        supervisor_here.close()
        raise
    finally:
        guardian_there.close()
        supervisor_there.close()
    return Pair(guardian_here, supervisor_here)


def fork_guardian(
    sock: socket.socket,
    supervisor_sock: socket.socket,
    fork: Callable[..., object],
    *,
    spare: bool,
    lasting: bool = False,
) -> None:
    """Fork a guardian, by a function of `detach`, that hears at `sock` and whose supervisor hears at `supervisor_sock`.
    `spare`: there is time before a job comes. `lasting`: more jobs may come."""
    keep = {sock.fileno(), supervisor_sock.fileno()}
    fork(lambda: _guard(sock, supervisor_sock, spare=spare, lasting=lasting), keep, tree.GUARDIAN)


def _guard(sock: socket.socket, supervisor_sock: socket.socket, *, spare: bool, lasting: bool) -> int:
    """The guardian's whole life."""
    signals.survive(SURVIVED)
    prctl.become_subreaper()
    oom.spare()  # and the supervisor with us: it is forked from here
    escrow, stdin_escrow = Escrow(), Escrow()
    # The supervisor says here that a job is over; the end of file says that it has ended itself
    line, line_there = fds.pair()
    keep = {supervisor_sock.fileno(), line_there.fileno()} | escrow.filenos() | stdin_escrow.filenos()

    def body() -> int:
        if spare:
            _rehearse()
        jobs = Jobs(supervisor_sock, line_there, escrow, stdin_escrow)
        return jobs.all() if lasting else jobs.one()

    child = detach.fork_into(body, keep, tree.SUPERVISOR, clean=True)
    supervisor_sock.close()
    line_there.close()
    while _guard_one(sock, line, child, escrow, stdin_escrow, lasting=lasting):
        pass
    return 0


def _guard_one(
    sock: socket.socket, line: socket.socket, child: int, escrow: Escrow, stdin_escrow: Escrow, *, lasting: bool
) -> bool:
    """See one job to its end. May there be another one?"""
    message, numbers = fds.receive(sock, limits.CONTROL_BYTES)
    if not lasting:
        sock.close()
    if not message:
        os.waitpid(child, 0)
        return False
    files = dict(zip(message.decode().split(","), numbers, strict=True))
    request = Request.from_file(files["request"])
    preload(request.definition)
    crash.at("guardian_told")
    word, made = fds.receive(line, limits.CONTROL_BYTES)
    if not word:
        _outlast(child, request, files, escrow, stdin_escrow)
        return False
    told = not _collect(request) and _say(sock, word, made)
    for fd in (*files.values(), *made):
        os.close(fd)
    return told


def _outlast(child: int, request: Request, files: dict[str, int], escrow: Escrow, stdin_escrow: Escrow) -> None:
    """The supervisor has ended, or is about to. It is waited for, and everything else left alone: after its death its
    children become ours."""
    _, status = os.waitpid(child, 0)
    held = [files["lock1"]]
    if os.waitstatus_to_exitcode(status) != 0:
        held += _succeed(request, files, escrow, stdin_escrow)
    for lock in held:  # this job may be deleted as well, and by anybody
        os.close(lock)
    _collect(request)


def _say(sock: socket.socket, word: bytes, made: list[int]) -> bool:
    """Tell whoever gave us the job that we wait for another one; False if nobody is there any more."""
    try:
        fds.send(sock, word, tuple(made))
    except OSError:
        return False
    crash.at("free_said")
    return True


def _succeed(request: Request, files: dict[str, int], escrow: Escrow, stdin_escrow: Escrow) -> list[int]:
    """The supervisor was killed: do what it was at. The locks that are still held then."""
    crash.succeed()
    crash.at("takeover_seen")
    try:
        job = start.open_job(request)
    except FileNotFoundError:  # the launcher took it back: nothing ran
        return []
    lock = job.open_lock()
    # A launcher that has not heard of the death yet still holds the byte, for milliseconds
    locks.wait_for(lock, SUPERVISOR_BYTE)
    crash.at("takeover_locked")
    if job.is_in_place():
        start.take_over(job, request, files, escrow, stdin_escrow)
    return [lock]


def _collect(request: Request) -> bool:
    """The job is over, and nobody waits for us. What is deleted is whatever its caller's configuration does not keep.
    False: there was nothing to do, and this process is what it was."""
    if request.bounds is None:
        return False
    try:  # few jobs end in this; and our code may be another version's by now, or gone
        from outlive.store.collect import collect as collect_root
        from outlive.store.collect import is_time
        from outlive.store.retention import Bounds
        from outlive.store.root import Store

        store, bounds = Store.existing(request.root), Bounds.of(request.bounds)
        if not is_time(store, bounds):
            store.close()
            return False
        os.nice(limits.GC_NICE)  # for good: only root may go back
        collect_root(store, bounds)
    except (OSError, OutliveError, ImportError):
        return True
    return True


def _rehearse() -> None:
    """Do what a start does and nobody sees: the first touch of a page that is shared with whoever forked us copies it,
    and a job that waits would pay for that."""
    definition: Definition = Definition.of(Definition(command=["true"], env={"NAME": "value"}).to_dict())
    request = Request.of(json.loads(json.dumps(Request(definition=definition.to_dict()).to_dict())))
    state = State(job_id=request.job_id, boot_id=process.boot_id(), started_at=timestamp(), phase="spawning")
    files.load(files.dump(state.replace(identity=process.identity(os.getpid()), pid=os.getpid()).to_dict()))
    outcome.ended(state, 0)
    signals.all_resettable()
    prctl.rename(tree.SUPERVISOR)


class Jobs:
    """The jobs of one supervisor, one after the other. It hears of them at `sock`; `line` is to its guardian."""

    def __init__(self, sock: socket.socket, line: socket.socket, escrow: Escrow, stdin_escrow: Escrow) -> None:
        self._sock = sock
        self._line = line
        self._escrow = escrow
        self._stdin_escrow = stdin_escrow
        self._own = {sock.fileno(), line.fileno()} | escrow.filenos() | stdin_escrow.filenos()
        self._root = ""
        self._made: list[tuple[str, str]] = []  # (root, name) of each blank that nobody has claimed
        signals.survive(SURVIVED)
        prctl.become_subreaper()

    def one(self) -> int:
        message, numbers = fds.receive(self._sock, limits.CONTROL_BYTES)
        self._sock.close()
        if message:
            self._see_through(message, numbers)
        return 0

    def all(self) -> int:
        for number in range(1, limits.PAIR_JOBS + 1):
            if not self._is_told():
                break
            message, numbers = fds.receive(self._sock, limits.CONTROL_BYTES)
            if not message or not self._see_through(message, numbers):
                break
            if number == limits.PAIR_JOBS or tree.children(os.getpid()):
                break
            self._forget()
            crash.at("free_cleared")
            self._offer()
        for made in self._made:
            blank.discard(*made)
        return 0

    def _see_through(self, message: bytes, numbers: list[int]) -> bool:
        """See a job to its end. Is nothing left of it in this process but open files and garbage?"""
        files = dict(zip(message.decode().split(","), numbers, strict=True))
        request = Request.from_file(files["request"])
        self._root = request.root
        waiter = adopt_socket(files["waiter"])
        # lock0 stays open until the job is over: that is the sign of life
        if request.mode == "adopt":
            start.adopt(request, waiter, self._escrow, self._stdin_escrow, files)
            return False
        return start.start(request, files.get("stdin"), waiter, self._escrow, self._stdin_escrow)

    def _is_told(self) -> bool:
        """Wait for a job, or for the end of our guardian: without one we take none."""
        poller = select.poll()
        for sock in (self._sock, self._line):
            poller.register(sock, select.POLLIN)
        return self._line.fileno() not in dict(poller.poll())

    def _offer(self) -> None:
        """Say that we wait, and hand over the directory for the next job: there is time to make it now."""
        self._made = [made for made in self._made if blank.is_there(*made)]
        made = None
        if not self._made:
            try:
                made = blank.Blank.made(self._root)
            except (OSError, OutliveError):  # then it is made when it is needed, and it is said what is wrong
                pass
        if made is None:
            fds.send(self._line, FREE.encode())
            return
        self._made.append((self._root, made.name))
        fds.send(self._line, f"{FREE} {made.name}".encode(), (made.fd, *made.locks))
        made.close()

    def _forget(self) -> None:
        """Be as before the job. Objects first: one that is collected later would close a file of the next job."""
        self._escrow.empty()
        self._stdin_escrow.empty()
        gc.collect()
        signals.forget_wakeup()
        fds.close_others(self._own)
        prctl.rename(tree.SUPERVISOR)
