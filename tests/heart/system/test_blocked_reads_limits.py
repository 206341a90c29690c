"""Who is blocked reading, where that is hard to tell: rights, work, processes that come and go, 32-bit programs."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import threading
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest

from outlive.system import blocked_reads
from support.children import (
    BUSY,
    NOTHING,
    POLLING,
    READING,
    SIMPLE,
    Start,
    flags,
    python,
)
from support.tiers import first

if not blocked_reads.supported():
    pytest.skip("this kernel does not tell who is blocked in what", allow_module_level=True)


class TestWhatMayNotBeRead:
    @pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
    @pytest.mark.parametrize(("dumpable", "wanted"), [(0, "unreadable"), (1, "reading")])
    def test_a_process_that_is_not_dumpable(self, dumpable: int, wanted: str) -> None:
        """As after exec of a set-uid program: its user may not look into it. Root may, so root does not run this."""
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

        monkeypatch.setattr(os, "open", refuse)
        assert flags(blocked_reads.inspect_threads([child.pid], child.target)) == {"unreadable"}

    def test_who_is_gone_refuses_nothing(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        child = start("cat")
        child.wait(READING)

        def refuse(path: str, size: int = 4096) -> bytes:
            if path.endswith("/syscall"):
                os.kill(child.pid, signal.SIGKILL)
                child.asleep(b"Z")
                raise PermissionError(13, "not yours", path)
            return real(path, size)

        real = blocked_reads._read
        monkeypatch.setattr(blocked_reads, "_read", refuse)
        assert flags(blocked_reads.inspect_threads([child.pid], child.target)) == NOTHING

    def test_without_our_own_descriptors_nothing_is_known(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        child = start("cat")
        child.wait(READING)

        def full(*_: object) -> int:
            raise OSError(24, "too many")

        monkeypatch.setattr(os, "open", full)
        assert flags(blocked_reads.inspect_threads([child.pid], child.target)) == {"unreadable"}

    @pytest.mark.parametrize("machine", ["x86_64", "m68k"])
    def test_a_kernel_that_does_not_tell(self, machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(blocked_reads, "_tables", None)
        monkeypatch.setattr(blocked_reads, "_own_syscall", lambda: -1 if machine == "x86_64" else 3)
        monkeypatch.setattr(os, "uname", lambda: os.uname_result(("", "", "", "", machine)))
        assert not blocked_reads.supported()
        assert flags(blocked_reads.inspect_threads([os.getpid()], blocked_reads.Target())) == {"unreadable"}


LOOKER = """
import ctypes, os, signal, sys, time
from outlive.system import blocked_reads
dumpable, wanted = int(sys.argv[1]), sys.argv[2]
r, w = os.pipe()
assert blocked_reads.supported()  # asked now: after setuid this process may not look into itself
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
        found = blocked_reads.inspect_threads([pid], blocked_reads.Target(pipe=(info.st_dev, info.st_ino)))
        if getattr(found, wanted) and not found.busy:
            print(*(name for name in type(found).__annotations__ if getattr(found, name)), end="")
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
        real_stat, real_read = blocked_reads._stat, blocked_reads._read

        def still(where: str) -> list[bytes]:
            fields = real_stat(where)
            return [states[0] if states else fields[0], *fields[1:]]

        def running(path: str, size: int = 4096) -> bytes:
            return b"running\n" if states and path.endswith("/syscall") else real_read(path, size)

        monkeypatch.setattr(blocked_reads, "_stat", still)
        monkeypatch.setattr(blocked_reads, "_read", running)
        monkeypatch.setattr(blocked_reads, "time", SimpleNamespace(sleep=lambda _: states.pop(0)))  # no other thread's
        assert flags(blocked_reads.inspect_threads([child.pid], child.target)) == READING

    def test_uninterruptible_sleep(self, start: Start, work: Path) -> None:
        """posix_spawn suspends the parent until exec, and the child waits for a writer before it."""
        os.mkfifo(work / "fifo")
        action = "[(os.POSIX_SPAWN_OPEN, 0, 'fifo', os.O_RDONLY, 0)]"
        child = start(*python(f"os.posix_spawn('/bin/true', ['true'], {{}}, file_actions={action})"))
        child.asleep(b"D")
        child.stays(BUSY)


class TestNothingHurts:
    def test_no_such_process(self) -> None:
        target = blocked_reads.Target(pipe=(1, 1), terminal=1)
        gone = subprocess.Popen(["true"])
        gone.wait()
        for pids in ([], [gone.pid], [0], [-1], [2**31 - 1], [2**40]):
            assert flags(blocked_reads.inspect_threads(pids, target)) == NOTHING

    def test_a_zombie(self, start: Start) -> None:
        child = start("true")
        child.asleep(b"Z")
        assert child.look() == NOTHING

    def test_no_target_is_nobodys_target(self, start: Start) -> None:
        for terminal in (False, True):
            child = start("cat", terminal=terminal)
            child.wait(READING)
            assert flags(blocked_reads.inspect_threads([child.pid], blocked_reads.Target())) == NOTHING

    def test_both_targets(self, start: Start) -> None:
        pipe, terminal = start("cat"), start("cat", terminal=True)
        both = blocked_reads.Target(pipe.target.pipe, terminal.target.terminal)
        for child in (pipe, terminal):
            child.wait(READING)
            assert flags(blocked_reads.inspect_threads([child.pid], both)) == READING

    @pytest.mark.parametrize("looks", first(1, [20, 400]))
    def test_processes_that_come_and_go(self, start: Start, looks: int) -> None:
        loop = "t = threading.Thread(target=int); t.start(); t.join()"
        children = [start("sh", "-c", "while :; do /bin/true; done"), start(*python(f"while True: {loop}"))]
        for _ in range(looks):
            for child in children:
                assert child.look() <= {"busy"}

    def test_garbage_for_an_address(self) -> None:
        where = f"/proc/self/task/{threading.get_native_id()}"
        for address, count in product((0, 8, 2**47 - 8, 2**63 - 1, 2**64 - 8), (0, 1, 2**31, 2**32 - 1, 2**64 - 1)):
            polled = blocked_reads._Thread(where, 0, 0, [address, count, 0, 0, 0, 0])
            selected = blocked_reads._Thread(where, 0, 0, [count, address, address, address, 0, 0])
            assert blocked_reads._poll_set(polled) == blocked_reads._select_set(selected) == []

    def test_a_set_as_large_as_can_be(self) -> None:
        import ctypes

        ones = ctypes.create_string_buffer(b"\xff" * (1 << 17))
        where = f"/proc/self/task/{threading.get_native_id()}"
        args = [2**31 - 1, *[ctypes.addressof(ones)] * 3, 0, 0]
        assert len(blocked_reads._select_set(blocked_reads._Thread(where, 0, 0, args))) == blocked_reads._MOST_FDS + 1

    def test_lines_without_a_system_call(self) -> None:
        for line in [b"", b"running", b"-1 0x0 0x0", b"0 0x0"]:
            assert blocked_reads._decode("", 0, line.split()) is None


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
