"""Go on with a job whose supervisor was killed, and never start its command a second time.

Its guardian takes it over; if that is dead too, a reader adopts it.
"""

from __future__ import annotations

import os
import signal
import socket
import time

from outlive.core.records import Identity, State
from outlive.core.units import timestamp
from outlive.errors import SCARCE
from outlive.store import fault_report
from outlive.store.atomic_file import Damaged
from outlive.store.inspection import adoptions, rebuilt
from outlive.store.job_dir import JobDir
from outlive.supervisor import confinement
from outlive.supervisor.added import of_started
from outlive.supervisor.ending import outcome
from outlive.supervisor.job_fds import Escrow, JobFds
from outlive.supervisor.request import Request
from outlive.supervisor.starting.start import hold, own_identity, reserve, start, write_down
from outlive.supervisor.supervisor import Supervisor
from outlive.system import fault_points, prctl, process, tree


def take_over(job: JobDir, request: Request, files: dict[str, int], escrow: Escrow) -> None:
    """Go on, as the guardian, with the job of a supervisor that was killed.

    This process holds the supervisor's lock and open files. It is the command's parent now, unless
    the supervisor was an adopter, which is not. `files` is what the launcher sent to the guardian, and the supervisor's lock.
    """
    prctl.rename(f"{tree.SUPERVISOR} {request.job_id}")
    held = escrow.take()
    fault_points.at("takeover_taken")
    if request.mode == "adopt":  # the command runs already, or did
        if "listener" in held:
            os.close(held.pop("listener"))  # a client that waits at the old one connects again, to the new one
        adopt(request, None, escrow, held or files)
        return
    state = _known(job) or State(job_id=request.job_id, boot_id=process.boot_id(), phase="launching")
    if state.waits or (state.phase in ("launching", "created", "spawning") and not tree.children(os.getpid())):
        # A command would be a child of this process now, alive or not, and its start would have been marked. So none was
        # started, and this is no second run
        for fd in (*held.values(), *escrow.stdin.take().values()):
            os.close(fd)
        job.close()
        start(request, files.get("stdin"), None, escrow, lock=files["lock0"])
        return
    job_fds = JobFds.taken(job, escrow, held)
    state = write_down(job, _recovered(job, state, parent=True, report=job_fds.report))
    fault_points.at("takeover_recorded")
    added = of_started(request.definition)
    added.taken(state, held)
    Supervisor(job, request, state, job_fds, added, parent=True).run(None)


def adopt(request: Request, waiter: socket.socket | None, escrow: Escrow, held: dict[str, int]) -> None:
    """Go on with a job whose supervisor and guardian were both killed, and whose command a reader
    found running.

    The FIFOs kept what the command wrote, because it has them open. `held` is what the reader took
    hold of, or what an adopter had that was killed too. These files must be held without a break
    from the moment in which the command was seen running: when a command ends, the last close of
    its FIFO discards what is in it.
    """
    prctl.rename(f"{tree.SUPERVISOR} {request.job_id}")
    fault_points.at("adopt_told")
    job = request.open_job()
    pty = request.definition.pty
    try:
        job_fds = JobFds.reopened(job, escrow, held, pty=pty)
    except OSError as error:
        if error.errno not in SCARCE:
            raise
        adoptions.survived(job)  # this says nothing of the job: the next reader that looks tries again
        return
    fault_points.at("adopt_opened")
    state = _known(job) or State(job_id=request.job_id)
    state = write_down(job, _recovered(job, state, parent=False, command=request.command))
    fault_points.at("adopt_recorded")
    added = of_started(request.definition)
    added.taken(state, held)
    hold(escrow, added)
    Supervisor(job, request, state, job_fds, added, parent=False).run(waiter)


def _known(job: JobDir) -> State | None:
    """Return the state of a job. If another program has spoilt it, its command counts as started, and is
    looked for."""
    try:
        return job.read_state()
    except (OSError, Damaged):
        begun = rebuilt.begun(job) or State(job_id=job.job_id)
        return rebuilt.outcome(job, begun) or State.replace(begun, phase="running", pid=None, identity=None)


def _recovered(
    job: JobDir, state: State, *, parent: bool, command: Identity | None = None, report: socket.socket | None = None
) -> State:
    """Return what is true of the command now. `command`: its identity, if a reader saw it. `report`: of a
    command in a sandbox."""
    state = State.replace(state, supervisor=own_identity(), adopted=state.adopted + 1, waiting=None)
    if state.finished:  # only its descendants are left to look after
        return state
    reserve(job)
    if not parent:
        state = State.replace(state, stdin="closed" if state.stdin else None)
    if state.pid is None:
        part = None if report is None else confinement.if_installed()
        inside = None if report is None or part is None else part.found_again(report)
        if inside is not None:
            command = process.identity(inside.command)
        elif report is None:
            command = command or _find_command(job.job_id)
        if command is None:
            return _never_recorded(job, state)
        init = _first_of(command.pid) if inside is None else process.identity(inside.init)
        state = State.replace(state, pid=command.pid, identity=command, init=init, phase="running")
    if state.started_at is None:
        state = State.replace(state, started_at=timestamp(), started_ns=time.monotonic_ns())
    return state


def _first_of(command: int) -> Identity | None:
    """Return process 1 of the sandbox in which a command runs, None if it runs in none."""
    parent = process.parent(command) or 0
    return process.identity(parent) if tree.number_inside(parent) == 1 else None


def _find_command(job_id: str) -> Identity | None:
    """Return the command of a start that was killed before it recorded the pid: a child of this
    process, else the process with the job's cookie."""
    ours = [(process.start_time(pid) or 0, pid) for pid in tree.children(os.getpid())]
    return process.identity(min(ours)[1]) if ours else tree.oldest_with_cookie(job_id)


def _never_recorded(job: JobDir, state: State) -> State:
    for member in tree.with_cookie(job.job_id):  # a sandbox in which the command was not started yet
        process.send_signal(member.pid, member.start, signal.SIGKILL)
    why = fault_report.cause(job) or "its supervisor was killed"
    if state.phase in ("spawning", "running"):
        return outcome.lost(state, f"{why} while it started; it may have run")
    return outcome.unstarted(state, f"{why} before it started; it never ran", None)
