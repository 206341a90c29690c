"""Start a program by posix_spawn(3) from a process with one thread: 0.6 ms, by fork and exec 2."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from outlive.core.record import Value
from outlive.system import fds, oom, paths, prctl, signals

_ERROR = struct.Struct("=i")

Action = tuple[Any, ...]  # as posix_spawn(3) of the os module takes them

# The process could not be made, so exec(2) was not reached. All other errors are about the program
NO_PROCESS = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})


class BeforeExec(OSError):
    """A failure before exec(2): nothing ran, and the same may succeed later or elsewhere."""


class Changed(BeforeExec):
    """What would be started is not what was asked for: another directory stands there, or another file."""


class How(Value):
    """How a program is started."""

    cwd: str
    cwd_id: Sequence[int] | None = None  # device and inode of the directory, if it has to be exactly this one
    umask: int | None = None  # None: ours
    # Path of a slave that becomes fds 0, 1 and 2, as far as they are not given, and the controlling terminal of the new session
    terminal: str | None = None
    prepare: Callable[[], None] | None = None  # is called in the new process before its program


def spawn(
    argv: Sequence[str], env: Mapping[str, str], stdio: Mapping[int, int], how: How, *, program: str | None = None
) -> int:
    """Start `argv` and return its pid. `program`: its path; None: it is looked up along PATH in `env`. `stdio`: child fd →
    our fd; nothing else is inherited. Directory and umask are set on *this* process around the call, so it must have one
    thread only. Errors: BeforeExec, OSError of execve(2).
    """
    prctl.cloexec_from(3)
    back = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    old_umask = None
    try:
        enter(how)
        if how.umask is not None:
            old_umask = os.umask(how.umask)
        with oom.AsCaller():
            actions = [*_moves(stdio), *_opens(how.terminal, stdio)]
            return _spawn_found(program or find(argv[0], env), argv, env, actions, how.prepare)
    except (ValueError, TypeError) as error:  # a NUL or half a character, or no text at all, in argv or env
        raise BeforeExec(errno.EINVAL, f"no program can be given this: {error}") from error
    finally:
        if old_umask is not None:
            os.umask(old_umask)
        os.fchdir(back)
        os.close(back)


def enter(how: How) -> None:
    """Make its directory the current one of this process. Errors: BeforeExec, of which Changed says that it is another one."""
    try:
        if how.cwd_id is None:
            os.chdir(how.cwd)
            return
        with fds.Closing(paths.opened(how.cwd, how.cwd_id)) as fd:
            os.chdir(fd)
    except OSError as error:
        if how.cwd_id is None:
            raise BeforeExec(error.errno, error.strerror, how.cwd) from error
        raise Changed(0, paths.moved(how.cwd, error)) from error


def _opens(terminal: str | None, stdio: Mapping[int, int]) -> list[Action]:
    """Return the file actions that open the terminal. A session leader without one gets the first
    that it opens (tty_ioctl(4), TIOCSCTTY), and posix_spawn(3) calls setsid before the file
    actions."""
    if terminal is None:
        return []
    fds_ = [fd for fd in (0, 1, 2) if fd not in stdio]
    first: Action = (os.POSIX_SPAWN_OPEN, fds_[0], terminal, os.O_RDWR, 0)
    return [first, *((os.POSIX_SPAWN_DUP2, fds_[0], fd) for fd in fds_[1:])]


def _moves(stdio: Mapping[int, int]) -> list[Action]:
    """Return a dup2 for each. Errors: ValueError if a source would be overwritten before its use."""
    clash = [source for source in stdio.values() if source in stdio and stdio[source] != source]
    if clash:
        raise ValueError(f"fds {clash} are both source and target")
    return [(os.POSIX_SPAWN_DUP2, source, target) for target, source in stdio.items()]


def _spawn_found(
    path: str, argv: Sequence[str], env: Mapping[str, str], actions: list[Action], prepare: Callable[[], None] | None
) -> int:
    """Start a program as execvpe(3) does."""

    def start(program: str, words: list[str]) -> int:
        if prepare is not None:
            return _start_prepared(program, words, env, actions, prepare)
        defaults = signals.all_resettable()
        return os.posix_spawn(program, words, env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=defaults)

    try:
        try:
            return start(path, list(argv))
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            # A script without #! is run by sh, as shells do
            return start("/bin/sh", ["sh", path, *argv[1:]])
    except OSError as error:
        if error.errno in NO_PROCESS:
            raise BeforeExec(error.errno, error.strerror) from error
        raise


def find(program: str, env: Mapping[str, str]) -> str:
    """Return the first candidate that may be run, as a spawn that fails costs half a millisecond; if none may, the
    first that exists: its error says more than "not found" (execvp(3))."""
    there = None
    for path in _candidates(program, env):
        if os.path.isfile(path):
            if os.access(path, os.X_OK):
                return path
            there = there or path
    return there or (program if "/" in program else _candidates(program, env)[0])


def _candidates(program: str, env: Mapping[str, str]) -> list[str]:
    if "/" in program:
        return [program]
    path = env.get("PATH") or os.defpath
    return [os.path.join(folder or ".", program) for folder in path.split(os.pathsep)]


def why_not(program: str, env: Mapping[str, str], cwd: str, error: OSError, *, looks: bool = True) -> str:
    """Return a sentence about a failed exec; ENOENT may mean that the interpreter of a script is missing. Without `looks` it
    says nothing of what is there: a job's link may lead to a file that the job does not see."""
    reason = os.strerror(error.errno or 0)
    for candidate in _candidates(program, env) if looks else ():
        path = os.path.join(cwd, candidate)
        try:
            with fds.Closing(fds.open_regular(path)) as fd:
                line, end, _ = os.read(fd, 256).partition(b"\n")
        except OSError:
            continue
        if error.errno == errno.ENOENT and line.startswith(b"#!"):
            interpreter = line[2:].strip().decode("utf-8", "replace")
            if end and line.endswith(b"\r"):
                return f"{path}: its first line ends with CR LF, and there is no interpreter {interpreter}\\r"
            return f"{path}: its interpreter {interpreter} was not found"
        return f"{path}: {reason}"
    return f"{program}: command not found" if error.errno == errno.ENOENT else f"{program}: {reason}"


# --- a process that is prepared first --------------------------------------------------------------------------------


def _start_prepared(
    program: str,
    argv: Sequence[str],
    env: Mapping[str, str],
    actions: Sequence[Action],
    prepare: Callable[[], None],
) -> int:
    """Do as posix_spawn(3), and call `prepare` in the new process, which puts it into a control group or sets limits.
    Errors: OSError of fork(2) and execve(2).

    posix_spawn(3) can do neither, and limits that are set after the start miss what the program has started by then. So
    this forks, from a process that has one thread.
    """
    reader, writer = os.pipe2(os.O_CLOEXEC)
    writer = _out_of_the_way(writer, {int(action[2 if action[0] == os.POSIX_SPAWN_DUP2 else 1]) for action in actions})
    with fds.Closing(writer):
        pid = os.fork()
        if pid == 0:
            _become(program, argv, env, actions, prepare, writer)
    with fds.Closing(reader):
        failure = os.read(reader, _ERROR.size)
    if failure:
        os.waitpid(pid, 0)
        number = _ERROR.unpack(failure)[0]
        raise OSError(number, os.strerror(number), program)
    return pid


def _out_of_the_way(fd: int, targets: set[int]) -> int:
    """Return the fd at a number that no file action opens."""
    passed = []
    while fd in targets:
        passed.append(fd)
        fd = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, fd + 1)
    for old in passed:
        os.close(old)
    return fd


def _become(
    program: str,
    argv: Sequence[str],
    env: Mapping[str, str],
    actions: Sequence[Action],
    prepare: Callable[[], None],
    writer: int,
) -> None:
    """Become the program. Never returns."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in signals.all_resettable():
            signal.signal(number, signal.SIG_DFL)
        prepare()
        for kind, *values in actions:
            if kind == os.POSIX_SPAWN_OPEN:
                target, path, flags, mode = values
                source = os.open(path, flags | os.O_CLOEXEC, mode)
            else:
                source, target = values
            if source == target:
                os.set_inheritable(source, True)
            else:
                os.dup2(source, target)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execve(program, list(argv), env)
    except OSError as error:
        os.write(writer, _ERROR.pack(error.errno or 0))
    finally:
        os._exit(127)
