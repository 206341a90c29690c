"""Who is blocked reading, told by the kernel: real programs on real pipes and terminals."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlive.system import blocked_reads
from support.children import (
    LISTEN,
    NOTHING,
    OTHERS,
    POLLING,
    READING,
    SAY,
    SIMPLE,
    Child,
    Start,
    flags,
    need,
    python,
)
from support.tiers import first

if not blocked_reads.supported():
    pytest.skip("this kernel does not tell who is blocked in what", allow_module_level=True)


@pytest.fixture
def null() -> Iterator[int]:
    fd = os.open(os.devnull, os.O_RDONLY)
    yield fd
    os.close(fd)


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


@pytest.mark.parametrize("terminal", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["pipe", "pty"])
@pytest.mark.parametrize("name", first(10, SIMPLE))
def test_a_program_that_waits(name: str, terminal: bool, start: Start) -> None:
    if name == "more than are looked at" and resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 2000:
        pytest.skip("too few descriptors are allowed here")
    argv, wanted = SIMPLE[name]
    start(*argv, terminal=terminal).stays(wanted)


@pytest.mark.parametrize("terminal", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["pipe", "pty"])
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


# A parent that has a connection open and looks at the input too, as npm does, and its child: what they poll, what is seen
NPM = (
    ("[0]", POLLING),
    ("[0, socket.create_server(('127.0.0.1', 0))]", OTHERS),
    ("[os.pipe()[0]]", OTHERS),
)


def test_each_set_is_judged_by_itself(start: Start) -> None:
    parent = "b = os.fork() or 1; select.select([0, server] if b > 1 else CHILD, [], [])"
    for polled, seen in NPM:
        start(*python(LISTEN, parent.replace("CHILD", polled)), terminal=True).stays(seen)
    thread = "threading.Thread(target=select.select, args=([0, server], [], [])).start()"
    start(*python(LISTEN, thread, "select.select([0], [], [])"), terminal=True).stays(POLLING)


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
        assert flags(blocked_reads.inspect_threads(inner, child.target)) == NOTHING
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
        real = blocked_reads._read
        if hidden:
            monkeypatch.setattr(
                blocked_reads, "_read", lambda path, *size: b"0" if path.endswith("/wchan") else real(path, *size)
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
