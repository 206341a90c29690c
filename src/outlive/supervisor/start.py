"""From a request to a supervised command: the start, the takeover by a guardian, the adoption by a reader."""

from __future__ import annotations

import errno
import os
import time

from outlive import fastjson
from outlive.core.records import Definition, State
from outlive.core.units import timestamp
from outlive.store.job_dir import FIFOS, STDIN_DATA, JobDir
from outlive.supervisor.control_server import STATE
from outlive.supervisor.ending import outcome
from outlive.supervisor.job_fds import Ends, open_readers
from outlive.supervisor.supervisor import Supervisor
from outlive.system import cgroup, fault_points, fds, prctl, process, spawn, tree
from outlive.system import pty as pty_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

    from outlive.core.records import Identity
    from outlive.supervisor.escrow import Escrow
    from outlive.supervisor.request import Request

_KEEPER_FDS = (248, 249)  # inherited read ends; above what shells hand out, below bash's 255
_TERMINAL_TYPE = "xterm-256color"


# What describes the terminal of whoever started the job: programs believe COLUMNS before they ask the kernel
_OF_A_TERMINAL = frozenset({"TERM", "COLUMNS", "LINES", "TERMCAP", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORTERM"})


def open_job(request: Request) -> JobDir:
    path = os.path.join(request.root, request.job_id)
    return JobDir(request.root, request.job_id, os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))


def start(
    request: Request,
    stdin_fd: int | None,
    waiter: socket.socket | None,
    escrow: Escrow,
    stdin_escrow: Escrow,
) -> bool:
    """Run the command of `request` and see it to its end. Was it a plain one, and did it run: is nothing of it left in
    this process but open files and garbage?"""
    prctl.rename(f"{tree.SUPERVISOR} {request.job_id}")
    fault_points.at("start_told")
    job = open_job(request)
    definition: Definition = Definition.of(request.definition)
    state = State(job_id=request.job_id, boot_id=process.boot_id(), supervisor=_self(), phase="spawning")
    try:
        ends = Ends.made(job, escrow, stdin_escrow, pty=definition.pty)
        if definition.pty or definition.stdin == "open":
            ends.data = _first_data(job)
        if ends.data is not None:
            escrow.put({"data": ends.data})
        stdin = _stdin(definition, job, stdin_fd, ends)
        fault_points.at("start_ends")
        job.write_state(state.replace(started_at=timestamp(), started_ns=time.monotonic_ns()))
        fault_points.at("start_marked")
        if not job.is_in_place():  # the launcher gave up on us, and said that nothing ran
            return False
        state = _spawn(job, request, definition, state, stdin, ends)
        fault_points.at("start_recorded")
    except OSError as error:  # nothing ran: the launcher takes the job back, and says why
        _refuse(job, request, state, waiter, error)
        return False
    told = False
    if waiter is not None and not state.finished:  # it need not wait for what only the rest of the job needs
        try:
            fds.send(waiter, STATE)
            told = True
        except OSError:  # it was killed
            pass
    Supervisor(job, request, state, ends, parent=True).run(waiter, told=told)
    return not (definition.pty or definition.notification)


def _refuse(job: JobDir, request: Request, state: State, waiter: socket.socket | None, error: OSError) -> None:
    name = errno.errorcode.get(error.errno or 0)
    path = error.filename if isinstance(error.filename, str) else None
    reason = error.strerror or str(error)
    message = f"{reason} {path}" if path else reason
    try:
        # A job that `create` made can be started again; the launcher takes a new one back
        created: State = State(job_id=job.job_id, state="created", phase="created")
        job.write_state(created if request.created else outcome.never_ran(state, message, name))
    except OSError:  # the disk is full: the launcher's answer is what counts
        pass
    if waiter is not None:
        fds.send(waiter, fastjson.dumps({"failed": reason, "errno": error.errno or 0, "path": path}).encode())


def take_over(job: JobDir, request: Request, files: dict[str, int], escrow: Escrow, stdin_escrow: Escrow) -> None:
    """The supervisor was killed; we hold what it held and its lock, and are the command's parent now unless it was an
    adopter, which is nobody's. `files`: what the launcher gave us too."""
    prctl.rename(f"{tree.SUPERVISOR} {request.job_id}")
    held = escrow.take()
    fault_points.at("takeover_taken")
    if request.mode == "adopt":  # the command runs already, or did
        if "listener" in held:
            os.close(held.pop("listener"))  # whoever still waits at it comes again, to the new one
        adopt(request, None, escrow, stdin_escrow, held or files)
        return
    state = job.read_state() or State(job_id=request.job_id, boot_id=process.boot_id(), phase="launching")
    if state.phase in ("launching", "created", "spawning") and not tree.children(os.getpid()):
        # A command would be our child now, alive or not: none was ever started, so this is no second run
        for fd in (*held.values(), *stdin_escrow.take().values()):
            os.close(fd)
        job.close()
        start(request, files.get("stdin"), None, escrow, stdin_escrow)
        return
    ends = Ends.taken(job, held, stdin_escrow)
    state = _recover(job, state, parent=True)
    fault_points.at("takeover_recorded")
    Supervisor(job, request, state, ends, parent=True).run(None)


def adopt(
    request: Request,
    waiter: socket.socket | None,
    escrow: Escrow,
    stdin_escrow: Escrow,
    held: dict[str, int],
) -> None:
    """Both were killed and a reader found the command running. The FIFOs kept what it wrote: it holds their other end.

    `held`: what the reader took hold of, or an adopter had that was killed too. From the look that found the command
    running on somebody holds it: what a command that has ended left in a FIFO is gone with the last fd of it.
    """
    prctl.rename(f"{tree.SUPERVISOR} {request.job_id}")
    fault_points.at("adopt_told")
    job = open_job(request)
    pty = Definition.of(request.definition).pty
    ends = Ends.reopened(job, escrow, stdin_escrow, held, pty=pty)
    fault_points.at("adopt_opened")
    state = job.read_state() or State(job_id=request.job_id)
    state = _recover(job, state, parent=False, command=request.command)
    fault_points.at("adopt_recorded")
    Supervisor(job, request, state, ends, parent=False).run(waiter)


def _recover(job: JobDir, state: State, *, parent: bool, command: Identity | None = None) -> State:
    """What is true of the command now, written down. Never runs anything. `command`: who it is, if a reader saw it."""
    state = state.replace(supervisor=_self(), adopted=state.adopted + 1, waiting=None)
    if state.finished:  # only its descendants are left to look after
        return _written(job, state)
    if not parent:
        state = state.replace(stdin="closed" if state.stdin else None)
    if state.pid is None:
        found = command or _find_command(job.job_id)
        if found is None:
            return _written(job, _never_recorded(state))
        state = state.replace(pid=found["pid"], identity=found, phase="running")
    if state.started_at is None:
        state = state.replace(started_at=timestamp(), started_ns=time.monotonic_ns())
    return _written(job, state)


def _written(job: JobDir, state: State) -> State:
    """It runs, or has ended: a full disk is no reason to lose it."""
    try:
        return job.write_state(state)
    except OSError:
        return state


def _find_command(job_id: str) -> Identity | None:
    """The command of a start that was killed before it wrote the pid down: our own child, else by its cookie."""
    ours = [(process.start_time(pid) or 0, pid) for pid in tree.children(os.getpid())]
    return process.identity(min(ours)[1]) if ours else tree.oldest_with_cookie(job_id)


def _never_recorded(state: State) -> State:
    if state.phase == "spawning":
        return outcome.lost(state, "its supervisor was killed while it started; it may have run")
    return outcome.never_ran(state, "its supervisor was killed before it started; it never ran", None)


def _self() -> dict[str, int | None]:
    return {"pid": os.getpid(), "start_time": process.start_time(os.getpid())}


def _stdin(definition: Definition, job: JobDir, stdin_fd: int | None, ends: Ends) -> int | None:
    """What the command reads; None: its terminal."""
    if stdin_fd is not None:
        return stdin_fd
    if definition.pty:
        return None
    if definition.stdin == "open":
        read_end, ends.stdin = os.pipe()
        ends.stdin_escrow.put({"stdin": ends.stdin})
        return read_end
    if definition.stdin == "data":
        return job.open_file(STDIN_DATA)
    return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)


def _first_data(job: JobDir) -> int | None:
    """The stdin_data of a job whose input stays open; None if none was given."""
    try:
        return job.open_file(STDIN_DATA)
    except FileNotFoundError:
        return None


def _spawn(job: JobDir, request: Request, definition: Definition, state: State, stdin: int | None, ends: Ends) -> State:
    """Between the mark and the recorded identity. The state returned is written."""
    argv = [*definition.shell, definition.command[0]] if definition.shell else list(definition.command)
    env = _environment(request, pty=definition.pty)
    stdio = {} if definition.pty else _pipes(job)
    if stdin is not None:
        stdio[0] = stdin
    tty = None if ends.slave is None else pty_module.path_of(ends.slave)
    group = cgroup.record()  # before the command runs: it inherits ours, and what is counted from here on may be it
    state = state.replace(started_at=timestamp(), started_ns=time.monotonic_ns())
    try:
        pid = spawn.spawn(argv, env, stdio, cwd=definition.cwd, umask=request.umask, terminal=tty)
    except OSError as error:
        if isinstance(error, spawn.BeforeExec):
            raise
        why = spawn.why_not(argv[0], env, definition.cwd, error)
        return job.write_state(outcome.never_ran(state, why, errno.errorcode.get(error.errno or 0)))
    finally:
        for fd in stdio.values():
            os.close(fd)
    fault_points.at("start_spawned")
    state = state.replace(
        phase="running",
        pid=pid,
        identity=process.identity(pid),
        group=group,
        stdin="open" if definition.pty or definition.stdin == "open" else "closed",
    )
    return _written(job, state)


def _pipes(job: JobDir) -> dict[int, int]:
    """stdout, stderr and the keepers of a command without terminal: child fd → our fd."""
    writers = [job.open_file(name, os.O_WRONLY) for name in FIFOS]
    return {1: writers[0], 2: writers[1], **dict(zip(_keeper_numbers(), open_readers(job), strict=True))}


def _environment(request: Request, *, pty: bool) -> dict[str, str]:
    # A job that a notification command starts is no notification command; and a new terminal is not the caller's
    dropped = (*tree.SINK_NAMES, *_OF_A_TERMINAL) if pty else tree.SINK_NAMES
    inherited = {name: value for name, value in request.environment.items() if name not in dropped}
    return {
        **inherited,
        **({"TERM": _TERMINAL_TYPE} if pty else {}),
        **request.overrides,
        tree.COOKIE: request.job_id,
        "OUTLIVE_ROOT": request.root,
        "OUTLIVE_SHELL": "exec",
    }


def _keeper_numbers() -> tuple[int, int]:
    """High fds for the keepers, inside what the command may have (getrlimit(2))."""
    soft = os.sysconf("SC_OPEN_MAX")  # -1: without limit
    top = min(_KEEPER_FDS[1], soft - 1) if soft > 0 else _KEEPER_FDS[1]
    return top - 1, top
