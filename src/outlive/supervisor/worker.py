"""The supervisor process of a pair: it waits for a job, sees it to its end, and waits for the next
one.
"""

from __future__ import annotations

import gc
import os

from outlive import fastjson, limits
from outlive.core.records import Definition, State
from outlive.core.units import timestamp
from outlive.errors import OutliveError
from outlive.store import atomic_file
from outlive.supervisor.ending import outcome
from outlive.supervisor.escrow import adopt_socket
from outlive.supervisor.fork_protocol import AHEAD, END, FREE, MAKING, OVER, read, ready
from outlive.supervisor.input.stdin import preload
from outlive.supervisor.request import Request, report_fault
from outlive.supervisor.start import start
from outlive.supervisor.supervisor import SURVIVED
from outlive.system import fault_points, fds, prctl, process, signals, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

    from outlive.supervisor.escrow import Escrow

PAIR_JOBS = 500  # a pair ends after this many jobs: no leak of a library may grow for weeks


def rehearse() -> None:
    """Do what a start does, without effect.

    The first write to a page that is shared with the parent process copies it; a job that waits
    would pay for that.
    """
    definition: Definition = Definition.of(Definition(command=["true"], env={"NAME": "value"}).to_dict())
    request = Request.of(fastjson.loads(fastjson.dumps(Request(definition=definition.to_dict()).to_dict())))
    state = State(job_id=request.job_id, boot_id=process.boot_id(), started_at=timestamp(), phase="spawning")
    atomic_file.load(atomic_file.dump(state.replace(identity=process.identity(os.getpid()), pid=os.getpid()).to_dict()))
    outcome.ended(state, 0)
    signals.all_resettable()
    prctl.rename(tree.SUPERVISOR)


class Worker:
    """The jobs of one supervisor process, one after the other.

    They come through `sock`. `line` leads to the guardian.
    """

    def __init__(self, sock: socket.socket, line: socket.socket, escrow: Escrow, stdin_escrow: Escrow) -> None:
        self._sock = sock
        self._line = line
        self._escrow = escrow
        self._stdin_escrow = stdin_escrow
        self._own = {sock.fileno(), line.fileno()} | escrow.filenos() | stdin_escrow.filenos()
        self._request: Request | None = None
        self._ahead = False
        self._guarded = True
        self._made: list[tuple[str, str]] = []  # (root, name) of each directory that was made ahead and not used yet
        signals.survive(SURVIVED)
        prctl.become_subreaper()

    def run(self, *, lasting: bool) -> int:
        """See every job of the pair to its end, and return the exit status. `lasting`: more than
        one may come.
        """
        try:
            return self._all() if lasting else self._one()
        except Exception as error:
            report_fault(self._request, "supervisor", error)
            raise

    def _one(self) -> int:
        message, numbers = fds.receive(self._sock, limits.CONTROL_BYTES)
        self._sock.close()
        if message:
            self._see_through(message, numbers)
        return 0

    def _all(self) -> int:
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
                # Said first: the escrow may be emptied only when no takeover needs it any more
                fds.send(self._line, OVER)
                self._forget()
                fault_points.at("free_cleared")
                self._offer()
            except OSError:  # the guardian has ended
                break
        if self._made:
            fds.close_others(self._own)  # the job's lock among them: no process is to wait for what comes now
            self._discard()
        return 0

    def _see_through(self, message: bytes, numbers: list[int]) -> bool:
        """See a job to its end. Return whether this process keeps nothing of it but open files and
        garbage.
        """
        files, words = read(message, numbers)
        self._request = request = Request.from_file(files["request"])
        self._ahead = AHEAD in words
        waiter = adopt_socket(files["waiter"])
        preload(request)  # before anything depends on it
        # lock0 stays open until the job is over: that is the sign of life
        if request.mode == "adopt":
            from outlive.supervisor import takeover  # late: few supervisors adopt a job

            takeover.adopt(request, waiter, self._escrow, self._stdin_escrow, files)
            return False
        return start(request, files.get("stdin"), waiter, self._escrow, self._stdin_escrow)

    def _offer(self) -> None:
        """Say that this pair waits, and hand over a directory for the next job: there is time to
        make one now.
        """
        from outlive.store import preallocated  # late: a command line's pair has one job. The fork server has it loaded

        self._made = [made for made in self._made if preallocated.is_there(*made)]
        new = None
        if self._ahead and not self._made and self._may_make():
            assert self._request is not None
            try:
                new = preallocated.PreallocatedJob.made(self._request.root)
                self._made.append((self._request.root, new.name))
            except (OSError, OutliveError):  # the next launcher makes one itself, and reports what is wrong
                pass
        word = " ".join([FREE, *(name for _, name in self._made)])
        fds.send(self._line, word.encode(), () if new is None else (new.fd, *new.locks))
        if new is not None:
            new.close()

    def _may_make(self) -> bool:
        """Tell the server that a directory is being made. Return False if the server has ended, or
        is about to.
        """
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
        """Wait for a job, or for the guardian's word that none will come. Return whether it was the
        word.

        End of file instead of the word means that the guardian was killed. It may have been told of
        a job that is on its way to this process too, so its end alone ends nothing. A launcher
        without a job for this pair, or one that finds the guardian dead, closes its connection to
        this process, and `fds.receive` then returns an empty message.
        """
        heard = ready(None, self._sock, *([self._line] if self._guarded else []))
        if self._sock.fileno() in heard:
            return False
        self._guarded = fds.receive(self._line, len(END))[0] == END
        return self._guarded or self._is_to_end()

    def _forget(self) -> None:
        """Be as before the job. Objects go first: one that is collected later would close a file of
        the next job.
        """
        self._escrow.empty()
        self._stdin_escrow.empty()
        gc.collect()
        signals.forget_wakeup()
        fds.close_others(self._own)
        prctl.rename(tree.SUPERVISOR)
