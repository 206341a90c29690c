"""Start a program in a process that is prepared first: in a control group, with limits.

posix_spawn(3) can do neither, and limits that are set after the start miss what the program has
started by then. So this forks, from a process that has one thread.
"""

from __future__ import annotations

import fcntl
import os
import signal
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

_ERROR = struct.Struct("=i")


def start(
    program: str,
    argv: Sequence[str],
    env: Mapping[str, str],
    actions: Sequence[tuple[Any, ...]],
    defaults: Iterable[int],
    prepare: Callable[[], None],
) -> int:
    """Do as posix_spawn(3), and call `prepare` in the new process. Errors: OSError of fork(2) and execve(2)."""
    reader, writer = os.pipe2(os.O_CLOEXEC)
    writer = _out_of_the_way(writer, {int(action[2 if action[0] == os.POSIX_SPAWN_DUP2 else 1]) for action in actions})
    try:
        pid = os.fork()
        if pid == 0:
            _become(program, argv, env, actions, defaults, prepare, writer)
    finally:
        os.close(writer)
    try:
        failure = os.read(reader, _ERROR.size)
    finally:
        os.close(reader)
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
    actions: Sequence[tuple[Any, ...]],
    defaults: Iterable[int],
    prepare: Callable[[], None],
    writer: int,
) -> None:
    """Become the program. Never returns."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in defaults:
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
