"""Guardian and supervisor as two processes: forked together, told later what to do.

Both wait for one message each and end if none comes, so a pair can be kept ready. The guardian then sleeps until its
supervisor ends; if that was not the end of the job, it goes on with it. A lasting pair, which a nursery has forked, waits
for another job when one is over without anything left of it: to fork and to end two processes takes as long as a job.
"""

from __future__ import annotations

import gc
import os

from outlive import fastjson, limits
from outlive.core.records import Definition, State
from outlive.core.units import timestamp
from outlive.errors import OutliveError
from outlive.store import atomic_file
from outlive.store.job_dir import SUPERVISOR_BYTE
from outlive.supervisor import start
from outlive.supervisor.ending import outcome
from outlive.supervisor.escrow import Escrow, adopt_socket
from outlive.supervisor.fork_protocol import AHEAD, END, FREE, MAKING, OVER, Pair, read, ready
from outlive.supervisor.input.stdin import preload
from outlive.supervisor.request import Request, report_fault
from outlive.supervisor.supervisor import SURVIVED
from outlive.system import daemonize, fault_points, fds, held_code, locks, oom, prctl, process, signals, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

PAIR_IDLE_S = 60.0  # an idle pair ends after this
PAIR_JOBS = 500  # a pair ends after this many jobs: no leak of a library may grow for weeks
_GC_NICE = 10  # a collection runs behind everything else (nice(2))

_SHUT_RD = 0  # sys/socket.h
# What guardian and supervisor import late: few jobs need it, and it may be another version's by then, or gone
LATE = (
    *(
        "outlive.store.cleanup",
        "outlive.store.fault_report",
        "outlive.store.id_cache",
        "outlive.store.inspect",
        "outlive.store.output",
    ),
    *("outlive.store.pending_notices", "outlive.supervisor.events", "outlive.system.mounts"),
)


def fork_pair(*, away: bool, spare: bool = False) -> Pair:
    """Fork guardian and supervisor. `away`: as nobody's child; else the caller, a nursery, has to reap the guardian, and
    the pair lasts. `spare`: there is time before a job comes."""
    guardian_here, guardian_there = fds.pair()
    supervisor_here, supervisor_there = fds.pair()
    fork = daemonize.fork_away if away else _fork_clean
    try:
        fork_guardian(guardian_there, supervisor_there, fork, spare=spare, lasting=not away)
    except OSError:
        guardian_here.close()
        supervisor_here.close()
        raise
    finally:
        guardian_there.close()
        supervisor_there.close()
    return Pair(guardian_here, supervisor_here)


def _fork_clean(body: Callable[[], int], keep: set[int], title: str) -> int:
    return daemonize.fork_into(body, keep, title, clean=True)


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
    held_code.hold(*LATE)
    escrow, stdin_escrow = Escrow(), Escrow()
    # The supervisor says here that a job is over; the end of file says that it has ended itself
    line, line_there = fds.pair()
    keep = {supervisor_sock.fileno(), line_there.fileno()} | escrow.filenos() | stdin_escrow.filenos()

    def body() -> int:
        if spare and not ready(0, supervisor_sock):  # a job that is there already does not wait for a rehearsal
            _rehearse()
        return Jobs(supervisor_sock, line_there, escrow, stdin_escrow).run(lasting=lasting)

    child = daemonize.fork_into(body, keep, tree.SUPERVISOR, clean=True)
    supervisor_sock.close()
    line_there.close()
    guard = Guard(sock, line, child, escrow, stdin_escrow)
    guard.run(lasting=lasting)
    return 0


class Guard:
    """A guardian and the jobs of `child`, its supervisor. It hears of them at `sock`, and at `line` that one is over."""

    def __init__(
        self, sock: socket.socket, line: socket.socket, child: int, escrow: Escrow, stdin_escrow: Escrow
    ) -> None:
        self._sock = sock
        self._line = line
        self._child = child
        self._escrow = escrow
        self._stdin_escrow = stdin_escrow
        self._idle_s: float | None = None  # how long to wait for the next one
        self._request: Request | None = None

    def run(self, *, lasting: bool) -> None:
        """`lasting`: more jobs than one may come."""
        try:
            self.all() if lasting else self.one()
        except Exception as error:
            report_fault(self._request, "guardian", error)
            raise

    def one(self) -> None:
        message, numbers = fds.receive(self._sock, limits.CONTROL_BYTES)
        self._sock.close()
        if message:
            self._see_through(message, numbers)
        else:
            os.waitpid(self._child, 0)

    def all(self) -> None:
        while True:
            message, numbers = self._next()
            if not message:
                break
            if not self._see_through(message, numbers):
                break
        if self._child:
            try:
                fds.send(self._line, END)
            except OSError:  # it was killed
                pass
            os.waitpid(self._child, 0)

    def _next(self) -> tuple[bytes, list[int]]:
        """The next job. None comes if nobody is there who could give us one, or has for long."""
        if self._idle_s is not None and not ready(self._idle_s, self._sock):
            # Who sends from here on is told that nobody hears; what was sent before is received
            self._sock.shutdown(_SHUT_RD)
        return fds.receive(self._sock, limits.CONTROL_BYTES)

    def _see_through(self, message: bytes, numbers: list[int]) -> bool:
        """See a job to its end. May there be another one?"""
        files, _ = read(message, numbers)
        self._request = request = Request.from_file(files["request"])
        preload(request.definition)
        fault_points.at("guardian_told")
        if not fds.receive(self._line, limits.CONTROL_BYTES)[0]:
            self._outlast(request, files)
            return False
        for fd in files.values():  # this job may be deleted as well, and by anybody
            os.close(fd)
        if _collect(request):
            return False
        word, made = fds.receive(self._line, limits.CONTROL_BYTES)
        told = bool(word) and self._say(word, made)
        for fd in made:
            os.close(fd)
        # One that has made a directory waits for ever: nobody else would delete it
        self._idle_s = PAIR_IDLE_S if word == FREE.encode() else None
        return told

    def _say(self, word: bytes, made: list[int]) -> bool:
        """Tell whoever gave us the job that we wait for another one; False if nobody is there any more."""
        try:
            fds.send(self._sock, word, tuple(made))
        except OSError:
            return False
        fault_points.at("free_said")
        return True

    def _outlast(self, request: Request, files: dict[str, int]) -> None:
        """The supervisor has ended, or is about to. It is waited for, and everything else left alone: after its death its
        children become ours."""
        _, status = os.waitpid(self._child, 0)
        self._child = 0
        held = [files["lock1"]]
        if os.waitstatus_to_exitcode(status) != 0:
            held += _succeed(request, files, self._escrow, self._stdin_escrow)
        for lock in held:
            os.close(lock)
        _collect(request)


def _succeed(request: Request, files: dict[str, int], escrow: Escrow, stdin_escrow: Escrow) -> list[int]:
    """The supervisor was killed: do what it was at. The locks that are still held then."""
    fault_points.succeed()
    fault_points.at("takeover_seen")
    try:
        job = start.open_job(request)
    except FileNotFoundError:  # the launcher took it back: nothing ran
        return []
    lock = job.open_lock()
    # A launcher that has not heard of the death yet still holds the byte, for milliseconds
    locks.wait_for(lock, SUPERVISOR_BYTE)
    fault_points.at("takeover_locked")
    if job.is_in_place():
        start.take_over(job, request, files, escrow, stdin_escrow)
    return [lock]


def _collect(request: Request) -> bool:
    """The job is over, and nobody waits for us. What is deleted is whatever its caller's configuration does not keep.
    False: there was nothing to do, and this process is what it was."""
    if request.bounds is None:
        return False
    try:  # few jobs end in this; and our code may be another version's by now, or gone
        from outlive.store.cleanup.automatic import collect as collect_root
        from outlive.store.cleanup.automatic import is_time
        from outlive.store.cleanup.policy import Bounds
        from outlive.store.root import Store

        store, bounds = Store.existing(request.root), Bounds.of(request.bounds)
        if not is_time(store, bounds):
            store.close()
            return False
        os.nice(_GC_NICE)  # for good: only root may go back
        collect_root(store, bounds)
    except Exception as error:  # noqa: BLE001 - the job is over, whatever is wrong with the others
        if not isinstance(error, (OSError, OutliveError)):
            report_fault(request, "gc", error)
        return True
    return True


def _rehearse() -> None:
    """Do what a start does and nobody sees: the first touch of a page that is shared with whoever forked us copies it,
    and a job that waits would pay for that."""
    definition: Definition = Definition.of(Definition(command=["true"], env={"NAME": "value"}).to_dict())
    request = Request.of(fastjson.loads(fastjson.dumps(Request(definition=definition.to_dict()).to_dict())))
    state = State(job_id=request.job_id, boot_id=process.boot_id(), started_at=timestamp(), phase="spawning")
    atomic_file.load(atomic_file.dump(state.replace(identity=process.identity(os.getpid()), pid=os.getpid()).to_dict()))
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
        self._request: Request | None = None
        self._ahead = False
        self._guarded = True
        self._made: list[tuple[str, str]] = []  # (root, name) of each blank that nobody has claimed
        signals.survive(SURVIVED)
        prctl.become_subreaper()

    def run(self, *, lasting: bool) -> int:
        """`lasting`: more jobs than one may come."""
        try:
            return self.all() if lasting else self.one()
        except Exception as error:
            report_fault(self._request, "supervisor", error)
            raise

    def one(self) -> int:
        message, numbers = fds.receive(self._sock, limits.CONTROL_BYTES)
        self._sock.close()
        if message:
            self._see_through(message, numbers)
        return 0

    def all(self) -> int:
        for number in range(1, PAIR_JOBS + 1):
            if self._is_to_end():
                break
            try:
                message, numbers = fds.receive(self._sock, limits.CONTROL_BYTES)
            except ConnectionResetError:  # the server was killed, and had not read what was said to it
                break
            if not message or not self._see_through(message, numbers):
                break
            if number == PAIR_JOBS or tree.children(os.getpid()):
                break
            try:
                # First: from here on there is nothing to go on with, and the escrow may be emptied
                fds.send(self._line, OVER)
                self._forget()
                fault_points.at("free_cleared")
                self._offer()
            except OSError:  # our guardian has ended
                break
        if self._made:
            fds.close_others(self._own)  # the job's lock among them: nobody is to wait for what comes now
            self._discard()
        return 0

    def _see_through(self, message: bytes, numbers: list[int]) -> bool:
        """See a job to its end. Is nothing left of it in this process but open files and garbage?"""
        files, words = read(message, numbers)
        self._request = request = Request.from_file(files["request"])
        self._ahead = AHEAD in words
        waiter = adopt_socket(files["waiter"])
        preload(request.definition)  # before anything depends on it
        # lock0 stays open until the job is over: that is the sign of life
        if request.mode == "adopt":
            start.adopt(request, waiter, self._escrow, self._stdin_escrow, files)
            return False
        return start.start(request, files.get("stdin"), waiter, self._escrow, self._stdin_escrow)

    def _offer(self) -> None:
        """Say that we wait, and hand over the directory for the next job: there is time to make it now."""
        from outlive.store import preallocated  # late: a command line's pair has one job. The nursery has it loaded

        self._made = [made for made in self._made if preallocated.is_there(*made)]
        new = None
        if self._ahead and not self._made and self._may_make():
            assert self._request is not None
            try:
                new = preallocated.PreallocatedJob.made(self._request.root)
                self._made.append((self._request.root, new.name))
            except (OSError, OutliveError):  # then it is made when it is needed, and it is said what is wrong
                pass
        word = " ".join([FREE, *(name for _, name in self._made)])
        fds.send(self._line, word.encode(), () if new is None else (new.fd, *new.locks))
        if new is not None:
            new.close()

    def _may_make(self) -> bool:
        """Tell the server that a directory is being made; False if the server has ended, or is about to."""
        try:
            fds.send(self._sock, MAKING, wait=False)
        except OSError:
            return False
        return not ready(0, self._sock)

    def _discard(self) -> None:
        from outlive.store import preallocated

        for made in self._made:
            preallocated.discard(*made)

    def _is_to_end(self) -> bool:
        """Wait for a job, or for the word that none will come.

        A guardian that was killed has not said it: it may have heard of a job that is on its way to us too. Else whoever
        has none to give, or finds our guardian gone, lets go of our own line."""
        heard = ready(None, self._sock, *([self._line] if self._guarded else []))
        if self._sock.fileno() in heard:
            return False
        self._guarded = fds.receive(self._line, len(END))[0] == END
        return self._guarded or self._is_to_end()

    def _forget(self) -> None:
        """Be as before the job. Objects first: one that is collected later would close a file of the next job."""
        self._escrow.empty()
        self._stdin_escrow.empty()
        gc.collect()
        signals.forget_wakeup()
        fds.close_others(self._own)
        prctl.rename(tree.SUPERVISOR)
