"""Guardian and supervisor as two processes: forked together, told later what to do.

Both wait for one message each and end if none comes, so a pair can be kept ready. The guardian then sleeps until its
supervisor ends; if that was not the end of the job, it goes on with it.
"""

from __future__ import annotations

import os

from outlive import lean as json
from outlive import limits
from outlive.errors import OutliveError
from outlive.job import Definition, State, timestamp
from outlive.store import files
from outlive.store.jobdir import SUPERVISOR_BYTE
from outlive.supervisor import outcome, start
from outlive.supervisor.escrow import Escrow, adopt_socket
from outlive.supervisor.handover import Pair
from outlive.supervisor.input import preload
from outlive.supervisor.request import Request
from outlive.supervisor.supervise import SURVIVED
from outlive.system import crash, detach, fds, locks, oom, prctl, process, signals, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable


def fork_pair(*, away: bool) -> Pair:
    """Fork guardian and supervisor. `away`: as nobody's child; else the caller, a nursery, has to reap the guardian."""
    guardian_here, guardian_there = fds.pair()
    supervisor_here, supervisor_there = fds.pair()
    try:
        if away:
            fork_guardian(guardian_there, supervisor_there, detach.fork_away, spare=False)
        else:
            fork_guardian(
                guardian_there, supervisor_there, lambda *given: detach.fork_into(*given, clean=True), spare=True
            )
    except OSError:
        guardian_here.close()
        supervisor_here.close()
        raise
    finally:
        guardian_there.close()
        supervisor_there.close()
    return Pair(guardian_here, supervisor_here)


def fork_guardian(
    sock: socket.socket, supervisor_sock: socket.socket, fork: Callable[..., object], *, spare: bool
) -> None:
    """Fork a guardian, by a function of `detach`, that hears at `sock` and whose supervisor hears at `supervisor_sock`."""
    keep = {sock.fileno(), supervisor_sock.fileno()}
    fork(lambda: _guard(sock, supervisor_sock, spare=spare), keep, tree.GUARDIAN)


def _guard(sock: socket.socket, supervisor_sock: socket.socket, *, spare: bool) -> int:
    """The guardian's whole life. `spare`: there is time before a job comes."""
    signals.survive(SURVIVED)
    prctl.become_subreaper()
    oom.spare()  # and the supervisor with us: it is forked from here
    escrow, stdin_escrow = Escrow(), Escrow()
    keep = {supervisor_sock.fileno()} | escrow.filenos() | stdin_escrow.filenos()

    def body() -> int:
        if spare:
            _rehearse()
        return _supervise(supervisor_sock, escrow, stdin_escrow)

    child = detach.fork_into(body, keep, tree.SUPERVISOR, clean=True)
    supervisor_sock.close()
    message, numbers = fds.receive(sock, limits.CONTROL_BYTES)
    sock.close()
    files = dict(zip(message.decode().split(","), numbers, strict=True)) if message else {}
    request = Request.from_file(files["request"]) if files else None
    if request is not None:
        preload(request.definition)
        crash.at("guardian_told")
    status = _reap(child)
    if request is None:
        return 0
    held = [files["lock1"]]
    if os.waitstatus_to_exitcode(status) != 0:
        held += _succeed(request, files, escrow, stdin_escrow)
    if request.bounds is not None:
        for lock in held:  # this job may be deleted as well, and by anybody
            os.close(lock)
        _collect(request)
    return 0


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


def _collect(request: Request) -> None:
    """The job is over, and nobody waits for us. What is deleted is whatever its caller's configuration does not keep."""
    os.nice(limits.GC_NICE)
    try:  # few jobs end in this; and our code may be another version's by now, or gone
        from outlive.store.collect import collect as collect_root
        from outlive.store.retention import Bounds
        from outlive.store.root import Store

        collect_root(Store.existing(request.root), Bounds.of(request.bounds))
    except (OSError, OutliveError, ImportError):
        return


def _reap(child: int) -> int:
    """Wait for the supervisor and leave everything else alone: after its death its children become ours."""
    _, status = os.waitpid(child, 0)
    return status


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


def _supervise(sock: socket.socket, escrow: Escrow, stdin_escrow: Escrow) -> int:
    """The supervisor's whole life."""
    signals.survive(SURVIVED)
    prctl.become_subreaper()
    message, numbers = fds.receive(sock, limits.CONTROL_BYTES)
    sock.close()
    if not message:
        return 0
    files = dict(zip(message.decode().split(","), numbers, strict=True))
    request = Request.from_file(files["request"])
    waiter = adopt_socket(files["waiter"])
    # lock0 stays open until we end: that is the sign of life
    if request.mode == "adopt":
        start.adopt(request, waiter, escrow, stdin_escrow, files)
    else:
        start.start(request, files.get("stdin"), waiter, escrow, stdin_escrow)
    return 0
