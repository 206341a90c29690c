"""From a request to a supervised command; what its end needs on disk is taken before it runs."""

from __future__ import annotations

import errno
import os
import socket
import time
from contextlib import suppress

from outlive.core.records import Definition, Identity, State, SupervisorId
from outlive.core.units import timestamp
from outlive.errors import OutliveError
from outlive.store.job_dir import FIFOS, FULL, SCRIPT, STDIN_DATA, JobDir
from outlive.supervisor import confinement
from outlive.supervisor.added import AllAdded, to_start
from outlive.supervisor.confinement import Unavailable
from outlive.supervisor.control_server import STATE
from outlive.supervisor.ending import outcome
from outlive.supervisor.fork_protocol import ready, refuse
from outlive.supervisor.input.terminal import new_record
from outlive.supervisor.job_fds import Escrow, JobFds, open_readers
from outlive.supervisor.output.masking import Masking
from outlive.supervisor.request import Request
from outlive.supervisor.starting import waiting
from outlive.supervisor.supervisor import Supervisor
from outlive.system import cgroup, fault_points, fds, machine, prctl, process, scripts, spawn, tree
from outlive.system.job_group import JobGroup

_KEEPER_FDS = (248, 249)  # inherited read ends; above what shells hand out, below bash's 255
_ANSWER_S = 0.003  # the cores are left to a caller that answers at once, until it hangs up and at most so long
_LITTLE_BYTES = 65_536  # of free space
_SPARE_FILES = 8  # that a supervisor opens after the start: records, their locks, clients
_TERMINAL_TYPE = "xterm-256color"


# Variables that describe the caller's terminal: programs believe COLUMNS before they ask the kernel
_OF_A_TERMINAL = frozenset({"TERM", "COLUMNS", "LINES", "TERMCAP", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORTERM"})


def start(request: Request, stdin_fd: int | None, waiter: socket.socket | None, escrow: Escrow, *, lock: int) -> bool:
    """Run the command of `request` and see it to its end. `lock`: the open file that holds the supervisor's lock.

    Return True if the command ran and had neither a terminal nor notifications: this process then
    keeps nothing of it but open files and garbage, and can take another job.
    """
    fault_points.at("start_told")
    job = request.open_job()
    definition = request.definition
    state = State(
        job_id=request.job_id,
        boot_id=process.boot_id(),
        machine=machine.here(),
        supervisor=own_identity(),
        phase="spawning",
    )
    added = AllAdded(())
    wait: waiting.WaitForStart | None = None
    try:
        if request.masked:  # first of all: without these files output is shown as it is
            Masking(job, request.masked).close()
        job_fds = _made_fds(job, definition, escrow)
        stdin = _stdin(definition, job, stdin_fd, job_fds)
        fault_points.at("start_ends")
        added = to_start(definition)
        wait = waiting.begun(job, request, state, added)
        if wait is not None:
            prctl.rename(f"{tree.SUPERVISOR} {request.job_id}")
            reserve(job)
            state = wait.run(state, job_fds.listener, waiter)
            waiter, request = None, _as_changed(job, request)
        if (wait is not None and wait.is_doomed) or _is_given_away(request, state, lock):
            return False
        if not state.finished:
            state = added.begin(state)
            hold(escrow, added)
            _mark(job, state)
            if not job.is_in_place():  # the launcher gave up waiting, and reported that nothing ran
                added.discard()
                return False
            state = _spawn(job, request, state, stdin, job_fds, added)
            fault_points.at("start_recorded")
    except OSError as error:
        added.discard()
        if wait is None:  # nothing ran: the launcher takes the job back, and reports why
            _refuse(job, request, state, waiter, error)
            return False
        state = write_down(job, _never_ran(request, state, error))
    if wait is not None and state.finished and not definition.pty:
        _hang_up(job)
    is_reported = waiter is not None and not request.awaited and not state.finished and _tell_started(waiter)
    prctl.rename(f"{tree.SUPERVISOR} {request.job_id}")
    reserve(job)
    Supervisor(job, request, state, job_fds, added, parent=True).run(waiter, is_reported=is_reported)
    return not (definition.pty or not definition.notification.is_empty)


def _tell_started(waiter: socket.socket) -> bool:
    """Tell a launcher whose caller waits for no end that the command runs, and leave the cores to it;
    what the command writes waits in its FIFOs. Return False if the launcher was killed."""
    try:
        fds.send(waiter, STATE)
    except OSError:
        return False
    ready(_ANSWER_S, waiter)
    return True


def _is_given_away(request: Request, state: State, lock: int) -> bool:
    """Return whether the job runs on a host, for which it waited here. Then a process is started that gives it to the host,
    when this one and its guardian have let go of it. It has the lock: no reader finds the job alone. Errors: OSError."""
    if not request.at_turn or state.finished:
        return False
    with fds.Closing(request.to_file()) as memory, fds.Closing(os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)) as null:
        moves = [(os.POSIX_SPAWN_DUP2, old, new) for new, old in enumerate((memory, null, null, lock))]
        os.posix_spawn(request.at_turn[0], request.at_turn, fault_points.carried(), file_actions=moves)
    return True


def _as_changed(job: JobDir, request: Request) -> Request:
    """Return the request with what callers changed while the job waited for its start: what is told of it, and to whom."""
    try:
        notification = job.read_meta().notification
    except (OSError, OutliveError):
        return request
    return Request.replace(request, definition=Definition.replace(request.definition, notification=notification))


def _mark(job: JobDir, state: State) -> None:
    """Write down that the command is about to be spawned, once everything is there that its end needs. Errors: OSError."""
    _require_spare_files()
    _reserve_the_last(job)
    job.make_logs()  # the launcher has done it by now, unless it was killed
    job.mark_spawning(State.replace(state, started_at=timestamp(), started_ns=time.monotonic_ns()))
    fault_points.at("start_marked")


def _require_spare_files() -> None:
    """Raise OSError (EMFILE) unless as many files can be opened as the supervisor will need: it could
    not write down the end of the command, which nothing would ever end."""
    taken: list[int] = []
    try:
        while len(taken) < _SPARE_FILES:
            taken.append(os.dup(0))
    finally:
        for fd in taken:
            os.close(fd)


def _reserve_the_last(job: JobDir) -> None:
    """Take space for the outcome before anything runs, if little is left: what this start still
    writes could be the last of it. Errors: OSError (ENOSPC, EDQUOT)."""
    left = os.fstatvfs(job.fd)
    if left.f_bavail * left.f_frsize >= _LITTLE_BYTES:
        return
    try:
        job.reserve()
    except OSError as error:
        if error.errno in FULL:
            raise


def _refuse(job: JobDir, request: Request, state: State, waiter: socket.socket | None, error: OSError) -> None:
    with suppress(OSError):  # a full disk: the launcher's answer is what counts
        # A job that `create` made can be started again; the launcher takes a new one back
        created: State = State(job_id=job.job_id, state="created", phase="created")
        job.write_state(created if request.created else _never_ran(request, state, error))
    if waiter is not None:
        refuse(
            waiter,
            error,
            path=_path_of(error),
            sandbox=isinstance(error, Unavailable),
            changed=isinstance(error, spawn.Changed),
        )


def _never_ran(request: Request, state: State, error: OSError) -> State:
    """Return the state of a job whose start failed before anything ran."""
    path, why = _path_of(error), error.strerror or str(error)
    never: State = State.replace(state, started_at=request.definition.created_at)  # as of every job that never ran
    reason = "denied" if isinstance(error, spawn.Changed) else "launch"
    return outcome.unstarted(never, f"{why} {path}" if path else why, errno.errorcode.get(error.errno or 0), reason)


def _path_of(error: OSError) -> str | None:
    return error.filename if isinstance(error.filename, str) else None


def write_down(job: JobDir, state: State) -> State:
    """Write the state if possible: a full disk is no reason to lose a command that runs or has ended."""
    try:
        return job.write_state(state)
    except OSError:
        return state


def reserve(job: JobDir) -> None:
    """Take space for the outcome if possible, while the command starts to run."""
    with suppress(OSError):  # a full disk
        job.reserve()


def hold(escrow: Escrow, added: AllAdded) -> None:
    """Keep what parts hold open if this process is killed."""
    held = added.held()
    if held:
        escrow.put({**held})


def own_identity() -> SupervisorId:
    return SupervisorId(pid=os.getpid(), start_time=process.start_time(os.getpid()))


def _made_fds(job: JobDir, definition: Definition, escrow: Escrow) -> JobFds:
    """Make the files by which a supervisor reaches its job. Errors: OSError."""
    job_fds = JobFds.made(job, escrow, pty=definition.pty)
    if definition.sandbox is not None:
        job_fds.report, job_fds.inside = confinement.installed().report_pair()
        escrow.put({"report": job_fds.report.fileno()})
    if definition.pty or definition.stdin == "open":
        _open_first_data(job, job_fds)
    return job_fds


def _stdin(definition: Definition, job: JobDir, stdin_fd: int | None, job_fds: JobFds) -> int | None:
    """Return the file that the command reads, None for its terminal."""
    if stdin_fd is not None:
        return stdin_fd
    if definition.pty:
        return None
    if definition.stdin == "open":
        read_end, job_fds.stdin = os.pipe()
        job_fds.escrow.stdin.put({"stdin": job_fds.stdin})
        return read_end
    if definition.stdin == "data":
        data = job.open_file(STDIN_DATA)
        os.set_blocking(data, True)  # as the command expects of its stdin
        return data
    return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)


def _open_first_data(job: JobDir, job_fds: JobFds) -> None:
    """Open the stdin_data of a job whose input stays open, if some was given."""
    try:
        job_fds.data = job.open_file(STDIN_DATA)
    except FileNotFoundError:
        return
    job_fds.escrow.put({"data": job_fds.data})


def _spawn(job: JobDir, request: Request, state: State, stdin: int | None, job_fds: JobFds, added: AllAdded) -> State:
    """Spawn the command, and write and return the state that has its identity."""
    definition = request.definition
    words = added.words(state, definition.command)
    argv = [*definition.shell, words[0]] if definition.shell else words
    env = {**_environment(request, pty=definition.pty), **added.environment(state)}
    stdio = {} if definition.pty else _pipes(job)
    if stdin is not None:
        stdio[0] = stdin
    if definition.script is not None:
        _add_script(job, definition, argv, stdio)
    tty = None if job_fds.slave is None else os.ttyname(job_fds.slave)
    # Taken before the command runs, which inherits the group: kills that are counted from here on may be its own
    group = cgroup.record()
    own = JobGroup.of(state.job_group)
    if own is not None:
        group = own.with_memory(group)
    terminal = None
    if job_fds.master is not None:
        # The first reader finds its size: a person who takes the keyboard gives the terminal this size back
        terminal = new_record(job_fds.master)
    state = State.replace(state, started_at=timestamp(), started_ns=time.monotonic_ns())
    prepare = added.prepare if added else None
    how = spawn.How(definition.cwd, definition.cwd_id, request.umask, tty, prepare)
    init = None
    try:
        if job_fds.inside is None:
            pid = spawn.spawn(argv, env, stdio, how, program=request.shell_path or None)
        else:
            pid, init = _spawn_inside(job, definition, argv, env, stdio, how, job_fds)
    except OSError as error:
        if isinstance(error, spawn.BeforeExec):
            raise
        added.discard()
        why = spawn.why_not(argv[0], env, definition.cwd, error, looks=job_fds.inside is None)
        return job.write_state(outcome.unstarted(state, why, errno.errorcode.get(error.errno or 0)))
    finally:
        for fd in stdio.values():
            os.close(fd)
    fault_points.at("start_spawned")
    state = State.replace(
        state,
        phase="running",
        pid=pid,
        identity=process.identity(pid),
        init=init,
        group=group,
        stdin="open" if definition.pty or definition.stdin == "open" else "closed",
        terminal=terminal,
    )
    return write_down(job, added.started(state))


def _add_script(job: JobDir, definition: Definition, argv: list[str], stdio: dict[int, int]) -> None:
    """Add the fd of a script that is too long for `argv`, whose last word becomes one that has the
    shell read it. Errors: OSError."""
    assert definition.script is not None
    argv[-1], end = scripts.reading(argv)
    with fds.Closing(job.open_file(SCRIPT)) as source:
        stdio[fds.SCRIPT] = scripts.copied(source, definition.script.bytes, definition.script.sha256, end)
    fds.keep_free(fds.SCRIPT, stdio)  # none may be both source and target


def _spawn_inside(
    job: JobDir,
    definition: Definition,
    argv: list[str],
    env: dict[str, str],
    stdio: dict[int, int],
    how: spawn.How,
    job_fds: JobFds,
) -> tuple[int, Identity]:
    """Start the command in its sandbox. Return its pid, and the identity of the sandbox's process 1."""
    assert definition.sandbox is not None
    assert job_fds.report is not None
    assert job_fds.inside is not None
    terminal = job_fds.slave
    if terminal is not None:
        stdio = dict.fromkeys((0, 1, 2), terminal) | stdio
    report = (job_fds.report, job_fds.inside)
    try:
        confines = confinement.installed()
        started = confines.start(definition.sandbox, argv, env, stdio, how=how, folder=job.fd, report=report)
    finally:
        job_fds.inside.close()
    return started.command, process.identity(started.init)


def _pipes(job: JobDir) -> dict[int, int]:
    """Open stdout, stderr and the keepers of a command without a terminal: {its fd: the fd here}."""
    writers = [job.open_fifo(name, os.O_WRONLY) for name in FIFOS]
    for fd in writers:  # as the command expects of its stdout
        os.set_blocking(fd, True)
    return {1: writers[0], 2: writers[1], **dict(zip(_keeper_numbers(), open_readers(job), strict=True))}


def _hang_up(job: JobDir) -> None:
    """Have the output of a job end that nothing ever wrote to: a FIFO that was never opened to write does not (fifo(7))."""
    with suppress(OSError):  # its directory is gone
        for fd in _pipes(job).values():
            os.close(fd)


def _environment(request: Request, *, pty: bool) -> dict[str, str]:
    # A job that a notification command starts is not one itself; and a new terminal is not the caller's
    dropped = (*tree.SINK_NAMES, *_OF_A_TERMINAL) if pty else tree.SINK_NAMES
    inherited = {name: value for name, value in request.inherited().items() if name not in dropped}
    return {
        **inherited,
        **({"TERM": _TERMINAL_TYPE} if pty else {}),
        **{name: value for name, value in request.overrides.items() if name not in tree.SINK_NAMES},
        **request.stages,
        tree.COOKIE: request.job_id,
        "OUTLIVE_ROOT": request.root,
        "OUTLIVE_SHELL": "exec",
    }


def _keeper_numbers() -> tuple[int, int]:
    """Return two high fd numbers for the keepers, within the command's limit (getrlimit(2))."""
    soft = os.sysconf("SC_OPEN_MAX")  # -1: without limit
    top = min(_KEEPER_FDS[1], soft - 1) if soft > 0 else _KEEPER_FDS[1]
    return top - 1, top
