"""The guardian: it forks its supervisor, sleeps until that ends, and goes on with the job if it was
killed.

Guardian and supervisor are a pair. Both are forked before they know a job, and each waits for one
message, so a pair can be kept ready. A lasting pair, which a fork server forks, waits for another
job when one is over and left nothing behind: forking and ending two processes takes as long as a
short job.
"""

from __future__ import annotations

import os

from outlive import limits
from outlive.errors import OutliveError
from outlive.store.job_dir import SUPERVISOR_BYTE
from outlive.supervisor.escrow import Escrow
from outlive.supervisor.fork_protocol import END, FREE, Pair, read, ready
from outlive.supervisor.input.stdin import preload
from outlive.supervisor.request import Request, report_fault
from outlive.supervisor.start import open_job
from outlive.supervisor.supervisor import SURVIVED
from outlive.supervisor.worker import Worker, rehearse
from outlive.system import daemonize, fault_points, fds, held_code, locks, oom, prctl, signals, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

PAIR_IDLE_S = 60.0  # an idle pair ends after this
_GC_NICE = 10  # a collection runs behind everything else (nice(2))
_SHUT_RD = 0  # sys/socket.h
# What guardian and supervisor import late, because few jobs need it or no caller waits for it any
# more. By then an update may have replaced the files
LATE = tuple(
    "outlive.core.ids outlive.store.adoptions outlive.store.fault_report outlive.store.output outlive.store.pending_notices outlive.store.root "
    "outlive.store.unsafe_way "
    "outlive.supervisor.events outlive.supervisor.takeover outlive.system.hole_punch outlive.system.systemd".split()
)
# What only the guardian imports late: it deletes old jobs
LATE_IN_GUARDIAN = ("outlive.store.cleanup", "outlive.store.id_cache", "outlive.store.inspect", "outlive.system.mounts")


def fork_pair(*, away: bool, spare: bool = False) -> Pair:
    """Fork a guardian and its supervisor, and return the launcher's connections to them. Errors:
    OSError.

    With `away` the guardian is not a child of the caller, and the pair takes one job. Otherwise the
    caller is a fork server: it reaps the guardian, and the pair is a lasting one. `spare`: no job
    is waiting for this pair yet.
    """
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
    ready_to_guard: Callable[[], None] = lambda: None,
) -> None:
    """Fork a guardian that gets its jobs through `sock`; its supervisor gets them through
    `supervisor_sock`.

    `fork` is a function of `daemonize`. `spare`: no job is waiting for the pair yet. `lasting`:
    more than one may come. `ready_to_guard` is called in the guardian once its supervisor exists.
    """
    keep = {sock.fileno(), supervisor_sock.fileno()}
    fork(lambda: _guard(sock, supervisor_sock, spare, lasting, ready_to_guard), keep, tree.GUARDIAN)


def _guard(
    sock: socket.socket, supervisor_sock: socket.socket, spare: bool, lasting: bool, ready_to_guard: Callable[[], None]
) -> int:
    """Run the guardian's whole life."""
    signals.survive(SURVIVED)
    prctl.become_subreaper()
    oom.spare()  # and the supervisor too, which is forked from here
    held_code.hold(*LATE)
    escrow, stdin_escrow = Escrow(), Escrow()
    # Through `line` the supervisor says that a job is over; end of file means that the supervisor
    # has ended
    line, line_there = fds.pair()
    keep = {supervisor_sock.fileno(), line_there.fileno()} | escrow.filenos() | stdin_escrow.filenos()

    def body() -> int:
        if spare and not ready(0, supervisor_sock):  # a job that has come already does not wait for a rehearsal
            rehearse()
        return Worker(supervisor_sock, line_there, escrow, stdin_escrow).run(lasting=lasting)

    child = daemonize.fork_into(body, keep, tree.SUPERVISOR, clean=True)
    ready_to_guard()
    held_code.hold(*LATE_IN_GUARDIAN)  # while the supervisor starts the job
    supervisor_sock.close()
    line_there.close()
    Guardian(sock, line, child, escrow, stdin_escrow).run(lasting=lasting)
    return 0


class Guardian:
    """A guardian, and the jobs of its supervisor `child`.

    A job is announced through `sock`. Through `line` the supervisor says that one is over.
    """

    def __init__(
        self, sock: socket.socket, line: socket.socket, child: int, escrow: Escrow, stdin_escrow: Escrow
    ) -> None:
        self._sock = sock
        self._line = line
        self._child = child
        self._escrow = escrow
        self._stdin_escrow = stdin_escrow
        self._idle_s: float | None = None  # how long to wait for the next job
        self._request: Request | None = None

    def run(self, *, lasting: bool) -> None:
        """See every job of the pair to its end. `lasting`: more than one may come."""
        try:
            self._all() if lasting else self._one()
        except Exception as error:
            report_fault(self._request, "guardian", error)
            raise

    def _one(self) -> None:
        message, numbers = fds.receive(self._sock, limits.CONTROL_BYTES)
        self._sock.close()
        if message:
            self._see_through(message, numbers)
        else:
            os.waitpid(self._child, 0)

    def _all(self) -> None:
        while True:
            message, numbers = self._next()
            if not message:
                break
            if not self._see_through(message, numbers):
                break
        if self._child:
            try:
                fds.send(self._line, END)
            except OSError:  # the supervisor was killed
                pass
            os.waitpid(self._child, 0)

    def _next(self) -> tuple[bytes, list[int]]:
        """Return the next job; an empty message when the launcher has closed its end, or the pair
        was idle for too long.
        """
        if self._idle_s is not None and not ready(self._idle_s, self._sock):
            # What is sent from here on fails at the sender; what was sent before is received
            self._sock.shutdown(_SHUT_RD)
        return fds.receive(self._sock, limits.CONTROL_BYTES)

    def _see_through(self, message: bytes, numbers: list[int]) -> bool:
        """See a job to its end. Return whether the pair can take another one."""
        files, _ = read(message, numbers)
        self._request = request = Request.from_file(files["request"])
        preload(request)
        fault_points.at("guardian_told")
        if not fds.receive(self._line, limits.CONTROL_BYTES)[0]:
            self._outlast(request, files)
            return False
        for (
            fd
        ) in files.values():  # the locks among them: the collection may delete this job too, and so may any process
            os.close(fd)
        if _collect(request):
            return False
        word, made = fds.receive(self._line, limits.CONTROL_BYTES)
        told = bool(word) and self._say(word, made)
        for fd in made:
            os.close(fd)
        # A pair that has made a directory waits without limit: no other process would delete the
        # directory
        self._idle_s = PAIR_IDLE_S if word == FREE.encode() else None
        return told

    def _say(self, word: bytes, made: list[int]) -> bool:
        """Tell the launcher that the pair waits for another job. Return whether the launcher still
        exists.
        """
        try:
            fds.send(self._sock, word, tuple(made))
        except OSError:
            return False
        fault_points.at("free_said")
        return True

    def _outlast(self, request: Request, files: dict[str, int]) -> None:
        """Wait for the end of the supervisor, which has ended or is about to, and go on with its
        job if it was killed.

        Nothing else is waited for: the supervisor's children become children of this process when
        it dies.
        """
        _, status = os.waitpid(self._child, 0)
        self._child = 0
        held = [files["lock1"]]
        if os.waitstatus_to_exitcode(status) != 0:
            held += _succeed(request, files, self._escrow, self._stdin_escrow)
        for lock in held:
            os.close(lock)
        _collect(request)


def _succeed(request: Request, files: dict[str, int], escrow: Escrow, stdin_escrow: Escrow) -> list[int]:
    """Go on with the job of a supervisor that was killed. Return the locks that are still held
    then.
    """
    fault_points.succeed()
    fault_points.at("takeover_seen")
    try:
        job = open_job(request)
    except FileNotFoundError:  # the launcher took it back: nothing ran
        return []
    lock = job.open_lock()
    # A launcher that has not heard of the death yet still holds the byte, for milliseconds
    locks.wait_for(lock, SUPERVISOR_BYTE)
    fault_points.at("takeover_locked")
    if job.is_in_place():
        from outlive.supervisor import takeover

        takeover.take_over(job, request, files, escrow, stdin_escrow)
    return [lock]


def _collect(request: Request) -> bool:
    """Delete what the caller's configuration does not keep, now that the job is over and no caller
    waits for this process.

    Return False if there was nothing to do and this process is what it was before.
    """
    if request.bounds is None:
        return False
    try:
        from outlive.store.cleanup.automatic import collect as collect_root  # few jobs end in this
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
