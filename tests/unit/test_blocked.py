"""Who is blocked reading, told by the kernel: real programs on real pipes and terminals."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from outlive.system import blocked, process, tree
from support.wait import until

if not blocked.supported():
    pytest.skip("this kernel does not tell who is blocked in what", allow_module_level=True)

READING, POLLING, OTHERS, BUSY = {"reading"}, {"polling"}, {"polling", "others"}, {"busy"}
NOTHING: set[str] = set()

Start = Callable[..., "Child"]


def flags(found: blocked.Found) -> set[str]:
    return {name for name in blocked.Found.__slots__ if getattr(found, name)}


class Child:
    """A program, what its input is, and our end of that."""

    def __init__(self, pid: int, target: blocked.Target, ours: int, said: int) -> None:
        self.pid = pid
        self.target = target
        self.ours = ours
        self.said = said

    def look(self) -> set[str]:
        self.drain()
        return flags(blocked.look(self.pids(), self.target))

    def pids(self) -> list[int]:
        return [self.pid, *(member.pid for member in tree.below(self.pid))]

    def drain(self) -> bytes:
        """A program whose output nobody takes waits for that."""
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


@pytest.fixture
def start(place: Path) -> Iterator[Start]:
    """`start(argv)` with a pipe as stdin, `terminal=True` with a pty, `stdin=FD` with that while the target is the
    pty or pipe all the same. stdout is a pipe of ours unless it is the terminal."""
    children: list[Child] = []
    open_fds: list[int] = []

    def go(*argv: str, terminal: bool = False, stdin: int | None = None) -> Child:
        theirs, ours = (os.openpty() if terminal else os.pipe())[:: -1 if terminal else 1]
        said, out = os.pipe()
        open_fds.extend((ours, said))
        os.set_blocking(said, False)
        info = os.fstat(theirs)
        if terminal:
            os.set_blocking(ours, False)
            target = blocked.Target(terminal=info.st_rdev)
            # Opened in a new session it becomes the controlling terminal
            actions = [(os.POSIX_SPAWN_OPEN, 0, os.ttyname(theirs), os.O_RDWR, 0)]
            actions += [(os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]  # type: ignore[list-item]
        else:
            target = blocked.Target(pipe=(info.st_dev, info.st_ino))
            actions = [(os.POSIX_SPAWN_DUP2, theirs, 0), (os.POSIX_SPAWN_DUP2, out, 1)]  # type: ignore[list-item]
        if stdin is not None:
            actions.append((os.POSIX_SPAWN_DUP2, stdin, 0))  # type: ignore[arg-type]
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


@pytest.fixture
def null() -> Iterator[int]:
    fd = os.open(os.devnull, os.O_RDONLY)
    yield fd
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

# The same, where nothing is to be seen: these say when they have come to it
IDLE: dict[str, tuple[str, ...]] = {
    "sleep": python(SAY, "os.execvp('sleep', ['sleep', '1000'])"),
    "listening only": python(LISTEN, SAY, "select.select([server], [], [])"),
    "another pipe": python("r, w = os.pipe()", SAY, "os.read(r, 1)"),
    "another terminal": python("m, s = os.openpty()", SAY, "os.read(s, 1)"),
    "a poll of another pipe": python("r, w = os.pipe(); p = select.poll(); p.register(r)", SAY, "p.poll()"),
    "interested in the end only": python("p = select.poll(); p.register(0, 0)", SAY, "p.poll()"),
    "epoll, interested in the end only": python("p = select.epoll(); p.register(0, 0)", SAY, "p.poll()"),
    "only sleeping in select": python(SAY, "select.select([], [], [], 1000)"),
    "only sleeping in poll": python(SAY, "select.poll().poll(1_000_000)"),
    "closed": python("os.close(0); r, w = os.pipe(); os.dup2(r, 5)", SAY, "os.read(5, 1)"),
    "writing": python("r, w = os.pipe()", SAY, "os.write(w, bytes(1 << 20))"),
}


@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "pty"])
@pytest.mark.parametrize("name", SIMPLE)
def test_a_program_that_waits(name: str, terminal: bool, start: Start) -> None:
    if name == "more than are looked at" and resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 2000:
        pytest.skip("too few descriptors are allowed here")
    argv, wanted = SIMPLE[name]
    start(*argv, terminal=terminal).stays(wanted)


@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "pty"])
@pytest.mark.parametrize("name", IDLE)
def test_a_program_that_does_not_read(name: str, terminal: bool, start: Start) -> None:
    child = start(*IDLE[name], terminal=terminal)
    child.ready()
    child.stays(NOTHING)


def test_input_of_python(start: Start) -> None:
    start(*python("input()")).stays(READING)


def test_a_descriptor_above_those_of_select(start: Start) -> None:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 2000:
        pytest.skip("too few descriptors are allowed here")
    lines = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (2000, 2000))",
        "os.dup2(0, 1500); os.close(0); p = select.poll(); p.register(1500, select.POLLIN); p.poll()",
    )
    start(*python(*lines)).stays(POLLING)


def test_a_grandchild_in_a_session_of_its_own(start: Start) -> None:
    start(*python("import subprocess", "subprocess.Popen(['cat'], start_new_session=True).wait()")).stays(READING)


def test_a_thread_whose_leader_has_ended(start: Start) -> None:
    lines = ("import ctypes", "threading.Thread(target=os.read, args=(0, 1)).start()")
    child = start(*python(*lines, "ctypes.CDLL(None).pthread_exit(None)"))
    child.asleep(b"Z")
    assert child.look() == READING


class TestTheTerminalByItsOtherName:
    def test_a_shell_reads_dev_tty(self, start: Start, null: int) -> None:
        start("sh", "-c", "read x </dev/tty", terminal=True, stdin=null).stays(READING)

    def test_getpass(self, start: Start, null: int) -> None:
        start(*python("import getpass; getpass.getpass()"), terminal=True, stdin=null).stays(READING)

    def test_a_poll_of_dev_tty(self, start: Start, null: int) -> None:
        line = "select.select([os.open('/dev/tty', os.O_RDWR)], [], [])"
        start(*python(line), terminal=True, stdin=null).stays(POLLING)

    def test_the_dev_tty_of_another_session_is_another(self, start: Start) -> None:
        line = "pty.spawn(['sh', '-c', 'echo ready; read x </dev/tty'])"
        child = start(*python("import pty", line), terminal=True)
        child.ready()
        child.stays(OTHERS)  # pty.spawn between the two; the shell itself is not seen
        inner = [pid for pid in child.pids() if pid != child.pid]
        assert flags(blocked.look(inner, child.target)) == NOTHING
        assert inner


class TestSignals:
    def test_who_is_stopped_does_not_read(self, start: Start) -> None:
        child = start("cat")
        child.wait(READING)
        os.kill(child.pid, signal.SIGSTOP)
        child.asleep(b"T")
        assert child.look() == NOTHING
        os.kill(child.pid, signal.SIGCONT)
        child.stays(READING)

    @pytest.mark.parametrize("hidden", [False, True])
    def test_a_poll_goes_on_as_restart_syscall(
        self, hidden: bool, start: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        child = start(*SIMPLE["poll"][0])
        child.wait(POLLING)
        self._hide_wchan(hidden, monkeypatch)
        self._stop_and_go(child)
        child.stays(POLLING)
        if os.uname().machine == "x86_64":
            assert Path(f"/proc/{child.pid}/syscall").read_text().startswith("219 ")

    @pytest.mark.parametrize("hidden", [False, True])
    @pytest.mark.parametrize(
        "line",
        ["time.sleep(1000)", "threading.Event().wait(1000)", "select.select([], [], [], 1000)"],
        ids=["sleep", "futex", "select"],
    )
    def test_so_does_what_is_no_poll(
        self, line: str, hidden: bool, start: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        child = start(*python(SAY, line))
        child.ready()
        self._hide_wchan(hidden, monkeypatch)
        self._stop_and_go(child)
        child.stays(NOTHING)

    @staticmethod
    def _stop_and_go(child: Child) -> None:
        os.kill(child.pid, signal.SIGSTOP)
        child.asleep(b"T")
        os.kill(child.pid, signal.SIGCONT)
        child.asleep()

    @staticmethod
    def _hide_wchan(hidden: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        real = blocked._read
        if hidden:
            monkeypatch.setattr(
                blocked, "_read", lambda path, *size: b"0" if path.endswith("/wchan") else real(path, *size)
            )


EITHER = (READING, POLLING)  # a matter of their version, and of the library that edits their lines


class TestRealPrograms:
    def test_bash(self, start: Start) -> None:
        start(need("bash"), "--norc", "-i", terminal=True).stays(*EITHER)

    def test_python(self, start: Start) -> None:
        start(sys.executable, "-i", terminal=True).stays(*EITHER)

    @pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "pty"])
    @pytest.mark.parametrize(
        "words", ["", "require('readline').createInterface({input: process.stdin}).question('? ', String)"]
    )
    def test_node(self, words: str, terminal: bool, start: Start) -> None:
        start(need("node"), *(["-e", words] if words else ["-i"]), terminal=terminal).wait(POLLING)

    @pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "pty"])
    def test_a_node_server_that_takes_keys(self, terminal: bool, start: Start) -> None:
        words = "require('net').createServer().listen(0, '127.0.0.1'); process.stdin.resume()"
        start(need("node"), "-e", words, terminal=terminal).wait(OTHERS)

    def test_node_with_a_child(self, start: Start) -> None:
        """Its stdio "pipes" are socket pairs: it waits for the child, too."""
        words = "require('child_process').spawn('sleep', ['1000']); process.stdin.resume()"
        start(need("node"), "-e", words).wait(OTHERS)

    @pytest.mark.parametrize("argv", ["vim -u NONE", "less /proc/cpuinfo", "top", "gdb -q", "script -q /dev/null"])
    def test_programs_of_the_terminal(self, argv: str, start: Start) -> None:
        need(argv.partition(" ")[0])
        wanted = (OTHERS,) if argv.startswith("script") else EITHER
        start(*argv.split(), terminal=True).wait(*wanted)


class TestWhatMayNotBeRead:
    @pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
    @pytest.mark.parametrize(("dumpable", "wanted"), [(0, "unreadable"), (1, "reading")])
    def test_a_process_that_is_not_dumpable(self, dumpable: int, wanted: str) -> None:
        """As after exec of a set-uid program: its user may not look into it. Root may, so nobody looks here."""
        done = subprocess.run(
            [sys.executable, "-c", LOOKER, str(dumpable), wanted], capture_output=True, timeout=60, check=False
        )
        assert done.stdout.decode() == wanted, done

    @pytest.mark.parametrize("name", ["syscall", "stat", "mem", "fdinfo"])
    def test_any_refusal_means_not_known(self, name: str, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        child = start(*SIMPLE["epoll" if name == "fdinfo" else "poll"][0])
        child.wait(POLLING)
        real = os.open

        def refuse(path: str, how: int) -> int:
            if f"/{name}" in path:
                raise PermissionError(13, "not yours", path)
            return real(path, how)

        monkeypatch.setattr(blocked.os, "open", refuse)
        assert flags(blocked.look([child.pid], child.target)) == {"unreadable"}

    def test_who_is_gone_refuses_nothing(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        child = start("cat")
        child.wait(READING)

        def refuse(path: str, size: int = 4096) -> bytes:
            if path.endswith("/syscall"):
                os.kill(child.pid, signal.SIGKILL)
                child.asleep(b"Z")
                raise PermissionError(13, "not yours", path)
            return real(path, size)

        real = blocked._read
        monkeypatch.setattr(blocked, "_read", refuse)
        assert flags(blocked.look([child.pid], child.target)) == NOTHING

    def test_without_our_own_descriptors_nothing_is_known(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        child = start("cat")
        child.wait(READING)

        def full(*_: object) -> int:
            raise OSError(24, "too many")

        monkeypatch.setattr(blocked.os, "open", full)
        assert flags(blocked.look([child.pid], child.target)) == {"unreadable"}

    @pytest.mark.parametrize("machine", ["x86_64", "m68k"])
    def test_a_kernel_that_does_not_tell(self, machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(blocked, "_tables", None)
        monkeypatch.setattr(blocked, "_own_syscall", lambda: -1 if machine == "x86_64" else 3)
        monkeypatch.setattr(blocked.os, "uname", lambda: os.uname_result(("", "", "", "", machine)))
        assert not blocked.supported()
        assert flags(blocked.look([os.getpid()], blocked.Target())) == {"unreadable"}


LOOKER = """
import ctypes, os, signal, sys, time
from outlive.system import blocked
dumpable, wanted = int(sys.argv[1]), sys.argv[2]
r, w = os.pipe()
assert blocked.supported()  # asked now: by setuid this process becomes one that may not look into itself
os.setgroups([]); os.setgid(65534); os.setuid(65534)
pid = os.fork()
if not pid:
    ctypes.CDLL(None).prctl(4, dumpable, 0, 0, 0)  # PR_SET_DUMPABLE
    os.read(r, 1)
    os._exit(0)
try:
    info = os.fstat(r)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        found = blocked.look([pid], blocked.Target(pipe=(info.st_dev, info.st_ino)))
        if getattr(found, wanted) and not found.busy:
            print(*(name for name in found.__slots__ if getattr(found, name)), end="")
            break
        time.sleep(0.01)
finally:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
"""


class TestBusy:
    def test_who_is_about_to_block_is_not_busy(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        """Running at the first looks, then in the read: what a prompt does."""
        child = start("cat")
        child.wait(READING)
        states = [b"R", b"S", b"D"]  # the second: asleep in its stat, "running" in its syscall
        real_stat, real_read = blocked._stat, blocked._read

        def still(where: str) -> list[bytes]:
            fields = real_stat(where)
            return [states[0] if states else fields[0], *fields[1:]]

        def running(path: str, size: int = 4096) -> bytes:
            return b"running\n" if states and path.endswith("/syscall") else real_read(path, size)

        monkeypatch.setattr(blocked, "_stat", still)
        monkeypatch.setattr(blocked, "_read", running)
        monkeypatch.setattr(blocked.time, "sleep", lambda _: states.pop(0))
        assert flags(blocked.look([child.pid], child.target)) == READING

    def test_uninterruptible_sleep(self, start: Start, work: Path) -> None:
        """posix_spawn suspends the parent until exec, and the child waits for a writer before it."""
        os.mkfifo(work / "fifo")
        action = "[(os.POSIX_SPAWN_OPEN, 0, 'fifo', os.O_RDONLY, 0)]"
        child = start(*python(f"os.posix_spawn('/bin/true', ['true'], {{}}, file_actions={action})"))
        child.asleep(b"D")
        child.stays(BUSY)


class TestNothingHurts:
    def test_no_such_process(self) -> None:
        target = blocked.Target(pipe=(1, 1), terminal=1)
        gone = subprocess.Popen(["true"])
        gone.wait()
        for pids in ([], [gone.pid], [0], [-1], [2**31 - 1], [2**40]):
            assert flags(blocked.look(pids, target)) == NOTHING

    def test_a_zombie(self, start: Start) -> None:
        child = start("true")
        child.asleep(b"Z")
        assert child.look() == NOTHING

    def test_no_target_is_nobodys_target(self, start: Start) -> None:
        for terminal in (False, True):
            child = start("cat", terminal=terminal)
            child.wait(READING)
            assert flags(blocked.look([child.pid], blocked.Target())) == NOTHING

    def test_both_targets(self, start: Start) -> None:
        pipe, terminal = start("cat"), start("cat", terminal=True)
        both = blocked.Target(pipe.target.pipe, terminal.target.terminal)
        for child in (pipe, terminal):
            child.wait(READING)
            assert flags(blocked.look([child.pid], both)) == READING

    def test_processes_that_come_and_go(self, start: Start) -> None:
        loop = "t = threading.Thread(target=int); t.start(); t.join()"
        children = [start("sh", "-c", "while :; do /bin/true; done"), start(*python(f"while True: {loop}"))]
        for _ in range(200):
            for child in children:
                assert child.look() <= {"busy"}

    @pytest.mark.parametrize("address", [0, 8, 2**47 - 8, 2**63 - 1, 2**64 - 8])
    @pytest.mark.parametrize("count", [0, 1, 2**31, 2**32 - 1, 2**64 - 1])
    def test_garbage_for_an_address(self, address: int, count: int) -> None:
        where = f"/proc/self/task/{threading.get_native_id()}"
        assert blocked._poll_set(blocked._Thread(where, 0, 0, [address, count, 0, 0, 0, 0])) == []
        assert blocked._select_set(blocked._Thread(where, 0, 0, [count, address, address, address, 0, 0])) == []

    def test_a_set_as_large_as_can_be(self) -> None:
        import ctypes

        ones = ctypes.create_string_buffer(b"\xff" * (1 << 17))
        where = f"/proc/self/task/{threading.get_native_id()}"
        args = [2**31 - 1, *[ctypes.addressof(ones)] * 3, 0, 0]
        assert len(blocked._select_set(blocked._Thread(where, 0, 0, args))) == blocked._MOST_FDS + 1

    @pytest.mark.parametrize("line", [b"", b"running", b"-1 0x0 0x0", b"0 0x0"])
    def test_lines_without_a_system_call(self, line: bytes) -> None:
        assert blocked._decode("", 0, line.split()) is None


@pytest.mark.parametrize("name", ["read", "poll"])
def test_a_32_bit_program(name: str, start: Start, work: Path) -> None:
    (work / "small").write_bytes(elf32(CODE_32[name]))
    (work / "small").chmod(0o700)
    try:
        child = start(str(work / "small"))
    except OSError as error:
        pytest.skip(f"no 32-bit programs here: {error}")
    child.stays(READING if name == "read" else POLLING)


BASE = 0x08048000
CODE_32 = {  # eax: the number; ebx, ecx, edx: the arguments; int 0x80
    "read": b"\xb8\x03\0\0\0\x31\xdb\xb9" + struct.pack("<I", BASE + 512) + b"\xba\x01\0\0\0\xcd\x80",
    "poll": b"\xb8\xa8\0\0\0\xbb" + struct.pack("<I", BASE + 256) + b"\xb9\x01\0\0\0\xba\xff\xff\xff\xff\xcd\x80",
}


def elf32(code: bytes) -> bytes:
    """The smallest program for i386, with a pollfd of stdin at 256. (elf(5))"""
    ident = b"\x7fELF\x01\x01\x01".ljust(16, b"\0")
    header = struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, BASE + 84, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    segment = struct.pack("<IIIIIIII", 1, 0, BASE, BASE, 1024, 1024, 7, 4096)
    image = (ident + header + segment + code).ljust(256, b"\0") + struct.pack("<ihh", 0, 1, 0)
    return image.ljust(1024, b"\0")
