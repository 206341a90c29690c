"""Programs on pipes and terminals of ours, and what the kernel tells of what they wait for."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from outlive.system import blocked_reads, process, tree
from support.wait import until

READING, POLLING, OTHERS, BUSY = {"reading"}, {"polling"}, {"polling", "others"}, {"busy"}
NOTHING: set[str] = set()

Start = Callable[..., "Child"]


def flags(found: blocked_reads.ThreadStates) -> set[str]:
    return {name for name in blocked_reads.ThreadStates.__annotations__ if getattr(found, name) is True}


class Child:
    """A program, what its input is, and our end of that."""

    def __init__(self, pid: int, target: blocked_reads.Target, ours: int, said: int) -> None:
        self.pid = pid
        self.target = target
        self.ours = ours
        self.said = said

    def look(self) -> set[str]:
        self.drain()
        return flags(blocked_reads.inspect_threads(self.pids(), self.target))

    def pids(self) -> list[int]:
        return [self.pid, *(member.pid for member in tree.below(self.pid))]

    def drain(self) -> bytes:
        """Take the output: a program whose output is not taken waits for that."""
        data = b""
        for fd in {self.ours, self.said} if self.target.terminal else {self.said}:
            with contextlib.suppress(BlockingIOError, OSError):
                while piece := os.read(fd, 65536):
                    data += piece
        return data

    def wait(self, *wanted: set[str]) -> set[str]:
        """Until a look finds one of these, exactly."""
        last: list[set[str]] = [set()]

        def one_of() -> bool:
            last[0] = self.look()
            return last[0] in wanted

        try:
            until(one_of)
        except AssertionError:
            pytest.fail(f"saw {last[0]}, not {wanted}; last in {Path(f'/proc/{self.pid}/syscall').read_text()}")
        return last[0]

    def stays(self, *wanted: set[str]) -> None:
        """The same five times in a row: on a busy machine a program that has just begun to wait may run once more."""

        def settled() -> bool:
            seen = self.wait(*wanted)
            return [self.look() for _ in range(5)] == [seen] * 5

        until(settled, what=f"five looks in a row that find one of {wanted}")

    def ready(self) -> None:
        """It has said "ready", and sleeps."""
        heard = bytearray()

        def said() -> bool:
            heard.extend(self.drain())
            return b"ready" in heard

        until(said, what="ready")
        self.asleep()

    def asleep(self, state: bytes = b"S") -> None:
        until(lambda: (process.stat_fields(self.pid) or [b""])[0] == state, what=f"state {state!r}")


def started_by_tests() -> Iterator[Start]:
    """For a fixture: `start(argv)` with a pipe as stdin, `terminal=True` with a pty, `stdin=FD` with that while the target is the
    pty or pipe all the same. stdout is a pipe of ours unless it is the terminal."""
    children: list[Child] = []
    open_fds: list[int] = []

    def go(*argv: str, terminal: bool = False, stdin: int | None = None) -> Child:
        theirs, ours = (os.openpty() if terminal else os.pipe())[:: -1 if terminal else 1]
        said, out = os.pipe()
        open_fds.extend((ours, said))
        os.set_blocking(said, False)
        info = os.fstat(theirs)
        actions: list[tuple[Any, ...]]
        if terminal:
            os.set_blocking(ours, False)
            target = blocked_reads.Target(terminal=info.st_rdev)
            # Opened in a new session it becomes the controlling terminal
            actions = [(os.POSIX_SPAWN_OPEN, 0, os.ttyname(theirs), os.O_RDWR, 0)]
            actions += [(os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]
        else:
            target = blocked_reads.Target(pipe=(info.st_dev, info.st_ino))
            actions = [(os.POSIX_SPAWN_DUP2, theirs, 0), (os.POSIX_SPAWN_DUP2, out, 1)]
        if stdin is not None:
            actions.append((os.POSIX_SPAWN_DUP2, stdin, 0))
        try:
            env = {**os.environ, "TERM": "xterm"}
            pid = os.posix_spawnp(argv[0], argv, env, file_actions=actions, setsid=True)
        finally:
            os.close(out)
            if not terminal:
                os.close(theirs)  # a slave stays open: without one, master reads fail before the child has opened it
            else:
                open_fds.append(theirs)
        children.append(Child(pid, target, ours, said))
        return children[-1]

    yield go
    for child in children:
        for pid in reversed(child.pids()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os.waitpid(child.pid, 0)
    for fd in open_fds:
        os.close(fd)


def python(*lines: str) -> tuple[str, ...]:
    return sys.executable, "-c", "import os, select, socket, threading, time\n" + "\n".join(lines)


def need(name: str) -> str:
    if not shutil.which(name):
        pytest.skip(f"no {name} here")
    return name


SAY = "os.write(1, b'ready')"
LISTEN = "server = socket.create_server(('127.0.0.1', 0))"

# name → what to run on a pipe and on a terminal alike, and what is seen
SIMPLE: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "cat": (("cat",), READING),
    "sh read": (("sh", "-c", "read x"), READING),
    "sh read in a child": (("sh", "-c", "(read x); :"), READING),
    "readv": (python("os.readv(0, [bytearray(9)])"), READING),
    "a dup": (python("os.dup2(0, 7); os.close(0); os.read(7, 1)"), READING),
    "a thread": (python("t = threading.Thread(target=os.read, args=(0, 1)); t.start(); t.join()"), READING),
    "select": (python("select.select([0], [], [])"), POLLING),
    "select with a timeout": (python("select.select([0], [], [], 1000)"), POLLING),
    "poll": (python("p = select.poll(); p.register(0, select.POLLIN); p.poll()"), POLLING),
    "epoll": (python("p = select.epoll(); p.register(0, select.EPOLLIN); p.poll()"), POLLING),
    "poll an epoll": (
        python(
            "e = select.epoll(); e.register(0, select.EPOLLIN)",
            "p = select.poll(); p.register(e, select.POLLIN); p.poll()",
        ),
        POLLING,
    ),
    "epoll in an epoll": (
        python(
            "e = select.epoll(); e.register(0, select.EPOLLIN)",
            f"{LISTEN}; e.register(server, select.EPOLLIN)",
            "p = select.epoll(); p.register(e, select.EPOLLIN); p.poll()",
        ),
        OTHERS,
    ),
    "a listening socket too": (python(LISTEN, "select.select([0, server], [], [])"), OTHERS),
    "a socket to be written to": (
        python(
            "a, b = socket.socketpair(); a.setblocking(False)",
            "while select.select([], [a], [], 0)[1]: a.send(bytes(99999))",
            "b.detach(); select.select([0], [a], [])",
        ),
        POLLING,  # a pair of its own, whichever end and way
    ),
    "a pair of its own": (python("a, b = socket.socketpair(); select.select([0, a], [], [])"), POLLING),
    "a pair with another": (
        python(
            "a, b = socket.socketpair()",
            "if not os.fork(): a.close(); b.recv(1)",
            "b.close(); select.select([0, a], [], [])",
        ),
        OTHERS,
    ),
    "another terminal": (python("m, s = os.openpty(); select.select([0, s], [], [])"), OTHERS),
    "a terminal's master": (python("m, s = os.openpty(); select.select([0, m], [], [])"), OTHERS),
    "another pipe too": (python("r, w = os.pipe(); select.select([0, r], [], [])"), POLLING),
    "more than are looked at": (
        python(
            "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (2000, 2000))",
            "r, w = os.pipe(); p = select.poll(); p.register(0, select.POLLIN)",
            "for i in range(1100): p.register(os.dup(r), select.POLLIN)",
            "p.poll()",
        ),
        OTHERS,
    ),
    "asyncio": (
        python(
            "import asyncio, sys",
            "async def main():",
            "    reader = asyncio.StreamReader()",
            "    protocol = asyncio.StreamReaderProtocol(reader)",
            "    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)",
            "    await reader.read(1)",
            "asyncio.run(main())",
        ),
        POLLING,
    ),
    "busy": (python("while True: pass"), BUSY),
    "busy beside a reader": (
        python("threading.Thread(target=os.read, args=(0, 1)).start()", "while True: pass"),
        READING | BUSY,
    ),
}
