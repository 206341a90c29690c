"""A command in a sandbox, as its supervisor sees it.

bwrap is started, makes the namespaces and becomes two processes. The inner one is process 1 of the
sandbox and executes `init.c`, which starts the command, and reports start and end with the exact
wait status. The outer one, which would only wait, is killed: process 1 is then the child of the
supervisor. What it reports stays in a socket until the outcome is recorded, so a successor of a
killed supervisor hears the same.
"""

from __future__ import annotations

import binascii
import errno
import fcntl
import os
import signal
import socket
import stat
from collections.abc import Callable, Mapping, Sequence

from outlive.core.records import Sandbox
from outlive.parts.sandbox.confinement import bubblewrap, syscalls
from outlive.parts.sandbox.confinement.after import Before
from outlive.parts.sandbox.confinement.guard import Guard
from outlive.parts.sandbox.confinement.inside import READY, START_S, STARTED, end_outer, heard
from outlive.parts.sandbox.confinement.keeping import Keeping
from outlive.parts.sandbox.confinement.mounts import Mounts
from outlive.parts.sandbox.confinement.mounts import add as add_mounts
from outlive.parts.sandbox.confinement.programs import INIT
from outlive.supervisor.confinement import Inside, Unavailable
from outlive.system import fds, process, spawn, tree
from outlive.system.spawn import How

# init.c expects these, and closes them before the command; the others are for bwrap, which closes them
_REPORT, _STDERR, _KEEPERS, _INIT, _FILTER, _WRITABLE, _ARGS, _PROC, _COPIES = 3, 4, (5, 6), 7, 8, 10, 11, 12, 13
_STDIN = "/dev/.stdin"  # as init.c has it
_PROGRAM = f"/dev/{tree.SANDBOX}"  # a name that no `pkill` of an agent matches
# A copy on the file system of /dev: a bind would have bwrap read all mounts once more. What the
# command makes of it changes nothing: it is executed once, before the command
_FIRST_PROCESS = ("--as-pid-1", "--perms", "0555", "--file", str(_INIT), _PROGRAM)
_TOLD_BYTES = 2000
_SHELL = "/bin/sh"


def start(
    sandbox: Sandbox,
    argv: Sequence[str],
    env: Mapping[str, str],
    stdio: Mapping[int, int],
    *,
    how: How,
    folder: int,
    report: tuple[socket.socket, socket.socket],
) -> Inside:
    """Start `argv` in the sandbox.

    `stdio`: the fds 0, 1 and 2 of the command, that of its script, and those that stay open as long as the sandbox.
    Errors: Unavailable and spawn.BeforeExec if nothing ran; OSError of execve(2).
    """
    here, there = report
    path = _found(argv[0], env, how)
    files = {
        **{fd: stdio[fd] for fd in (0, 1)},
        _STDERR: stdio[2],
        _REPORT: there.fileno(),
        **{fd: stdio[fd] for fd in stdio if fd == fds.SCRIPT},
        **dict(zip(_KEEPERS, [stdio[fd] for fd in sorted(stdio) if fd > fds.SCRIPT], strict=False)),
    }
    flag = "t" if how.terminal else "-"

    def run(words: list[str]) -> Inside:
        keeping = Keeping(sandbox, folder)
        return next(filter(None, (_tried(sandbox, words, env, files, how, here, keeping) for _ in range(2))))

    try:
        return run([flag, path, *argv])
    except OSError as error:
        if error.errno != errno.ENOEXEC or isinstance(error, Unavailable):
            raise
    return run([flag, _SHELL, "sh", path, *argv[1:]])  # a script without #! is run by sh, as shells do


def _found(program: str, env: Mapping[str, str], how: How) -> str:
    """Return the path that execvpe(3) would run. Errors: those of spawn.enter."""
    with fds.Closing(os.open(".", fds.DIRECTORY)) as back:
        try:
            spawn.enter(how)
            return spawn.find(program, env)
        finally:
            os.fchdir(back)


def _tried(
    sandbox: Sandbox,
    words: list[str],
    env: Mapping[str, str],
    files: Mapping[int, int],
    how: How,
    here: socket.socket,
    keeping: Keeping,
) -> Inside | None:
    """Start a command. Return None if nothing ran, because its sandbox did not keep all: the next does."""
    told, telling = os.pipe()
    word, heard = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    arguments, reading = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    made = {2: telling, _INIT: _init(), _FILTER: _filter(sandbox), _PROC: _proc()}
    try:
        mounts = _mounts(sandbox, how.cwd, keeping.now)
        # A caller that may not read the environment of process 1 finds by its words of which job it is (tree.py)
        words = [f"{_stdin(mounts, files[0]) or words[0]} {env.get(tree.COOKIE, '')}", *words[1:]]
        command = [*_bwrap(sandbox), _PROGRAM, *words]
        every = {**files, **made, **mounts.files, _WRITABLE: heard.fileno(), _ARGS: reading.fileno()}
        try:
            outer = _spawn(command, every, umask=how.umask, prepare=how.prepare)
        finally:
            mounts.close()
        started = None
        try:
            reading.close()
            heard.close()
            _tell(
                arguments,
                bubblewrap.arguments(sandbox, env, how.cwd, mounts.words, last=_FIRST_PROCESS),
            )
            if _is_in(keeping, mounts):
                _tell(word, _writable(mounts))
                started = _met(here, told, outer)
            return started
        finally:
            end_outer(outer)
            if started is None:  # its child may wait for the bwrap that was killed
                _end_all()
    finally:
        for end in (word, heard, arguments, reading):
            end.close()
        for fd in (told, *made.values()):
            os.close(fd)


def _mounts(sandbox: Sandbox, cwd: str, guarded: Callable[[], Guard | None]) -> Mounts:
    """Return the file system of the sandbox. Errors: Unavailable."""
    mounts = Mounts(_COPIES)
    try:
        add_mounts(mounts, sandbox, cwd, guarded)
    except OSError as error:
        mounts.close()
        raise _unavailable(error) from error
    return mounts


def _writable(mounts: Mounts) -> bytes:
    """Return the word by which init.c lets the command run."""
    return b"".join(os.fsencode(path) + b"\0" for path in (*mounts.writable, ""))


def _is_in(keeping: Keeping, mounts: Mounts) -> bool:
    try:
        return keeping.is_in(mounts)
    except OSError as error:
        raise _unavailable(error) from error


def _unavailable(error: OSError) -> Unavailable:
    where = f"{error.filename}: " if error.filename else ""
    return Unavailable(0, f"{where}{error.strerror}")


def _stdin(mounts: Mounts, fd: int) -> str | None:
    """Mount the file that the command reads, and return the word that says so to init.c; None if its
    stdin is no file that can be mounted. Through the fd it could change mode, times and, without
    Landlock, content."""
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode) or not status.st_nlink:
        return None
    mounts.words += ["--ro-bind-fd", mounts.number(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)), _STDIN]
    return f"f{os.lseek(fd, 0, os.SEEK_CUR)}"


def _bwrap(sandbox: Sandbox) -> list[str]:
    """Return the words that start bwrap. Root owns the devices, so init.c makes them read-only first."""
    first = [f"/proc/self/fd/{_INIT}", "d"] if os.geteuid() == 0 else []
    return [*first, sandbox.bwrap, "--args", str(_ARGS), "--"]


def _init() -> int:
    return fds.memory_file("init", binascii.a2b_base64(INIT[os.uname().machine]))


def _filter(sandbox: Sandbox) -> int:
    return fds.memory_file("filter", syscalls.program(os.uname().machine, sandbox.network))


def _proc() -> int:
    return os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def _tell(arguments: socket.socket, words: bytes) -> None:
    """Give bwrap its arguments, which it waits for: they are worked out while it is loaded.

    If this process is killed meanwhile, bwrap has a part of them. The program to be executed comes
    with the last ones: without it nothing runs.
    """
    arguments.settimeout(START_S)
    try:
        arguments.sendall(words, socket.MSG_NOSIGNAL)
    except OSError:  # bwrap has ended: what it complains of says more
        return
    finally:
        arguments.close()


def _spawn(
    command: list[str],
    files: Mapping[int, int],
    *,
    umask: int | None,
    prepare: Callable[[], None] | None = None,
    env: Mapping[str, str] | None = None,
) -> int:
    """Start bwrap. The fds go through high numbers: no source may be the target of another. `env`: of bwrap itself."""
    above = max(files) + 1
    high: dict[int, int] = {}
    try:
        for target, fd in files.items():
            high[target] = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, above)
        return spawn.spawn(command, env or {}, high, How("/", umask=umask, prepare=prepare))
    except spawn.BeforeExec:
        raise
    except OSError as error:
        raise Unavailable(0, f"{command[0]}: {error.strerror}") from error
    finally:
        for fd in high.values():
            os.close(fd)


def _met(here: socket.socket, told: int, outer: int) -> Inside:
    """Wait for the command to be started. Errors: Unavailable, OSError of execve(2)."""
    command, ended = 0, None
    try:
        ended = process.open_pidfd(outer)
        while True:
            kind, value, sender = heard(here, ended)
            if kind == READY:
                command = sender
            elif kind == STARTED and value:
                raise OSError(value, os.strerror(value))
            elif kind == STARTED:
                return Inside(command, sender)
            else:  # bwrap gave up, or was killed
                raise Unavailable(0, _complaint(told))
    finally:
        if ended is not None:
            os.close(ended)


def _end_all() -> None:
    """Kill what bwrap may have left of a sandbox: it is told that nothing ran, so nothing may."""
    for member in tree.below(os.getpid()):
        process.send_signal(member.pid, member.start, signal.SIGKILL)


def _complaint(told: int) -> str:
    os.set_blocking(told, False)
    try:
        text = os.read(told, _TOLD_BYTES).decode("utf-8", "replace").strip()
    except BlockingIOError:
        text = ""
    return " ".join(text.split()) or "bwrap ended without a word"


def start_sink(
    sandbox: Sandbox, words: list[str], env: Mapping[str, str], stdio: Mapping[int, int], how: How, folder: int
) -> int:
    """Start a notification command in a sandbox like that of its job, which ends with it, whatever it has started; return
    its pid. Errors: OSError.

    Of a job on another machine it is the first that runs in the workspace here.
    """
    path = _found(words[0], env, how)
    is_first = Before.read(folder) is None
    mounts = _mounts(sandbox, how.cwd, Keeping(sandbox, folder if is_first else None).found)
    made: dict[int, int] = {}
    try:
        arguments = bubblewrap.arguments(sandbox, env, how.cwd, mounts.words, last=_FIRST_PROCESS)
        made[_INIT] = _init()
        made[_FILTER] = _filter(sandbox)
        made[_PROC] = _proc()
        made[_ARGS] = fds.memory_file("args", arguments)
        made[_WRITABLE] = fds.memory_file("writable", _writable(mounts))
        files = {**stdio, **made, **mounts.files}
        # By these a kill of the job leaves bwrap alone, as it does the command, and the next supervisor finds it: process 1
        # may be looked at by root alone
        mark = {name: env[name] for name in (tree.SINK_MARK, tree.COOKIE) if name in env}
        return _spawn([*_bwrap(sandbox), _PROGRAM, "x", path, *words], files, umask=how.umask, env=mark)
    finally:
        mounts.close()
        for fd in made.values():
            os.close(fd)
