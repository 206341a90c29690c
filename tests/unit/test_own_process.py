"""What a supervisor does by calls that Python has no function for, each in both of its ways."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from outlive.system import hole_punch

KERNEL_ONLY = ""
# Another Python may not have what is used of _ctypes, a system may forbid to open one's own memory
WITHOUT_CALLS = "import ctypes, _ctypes; del _ctypes.call_cdeclfunction\n"
WITHOUT_MEMORY = (
    "import os; opened = os.open\n"
    "def guarded(path, *more):\n"
    "    if path == '/proc/self/mem': raise PermissionError(13, 'no')\n"
    "    return opened(path, *more)\n"
    "os.open = guarded\n"
)
PROGRAM = """
import subprocess, sys
from outlive.system import prctl
assert prctl.become_subreaper()
prctl.rename("holdfast JOB")
own = [open(f"/proc/self/{name}", "rb").read() for name in ("comm", "cmdline", "environ")]
orphan = "import os, sys; os.fork() and os._exit(0); os.read(0, 1); print(os.getppid())"
done = subprocess.Popen([sys.executable, "-c", orphan], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
done.wait()
print(own[0].strip(), own[1].rstrip(b"\\0"), own[2].strip(b"\\0"), int(done.communicate(b"x")[0]) == __import__("os").getpid())
"""


@pytest.mark.parametrize("first", [KERNEL_ONLY, WITHOUT_CALLS, WITHOUT_MEMORY], ids=["usual", "ctypes", "no_memory"])
def test_a_process_is_renamed_and_takes_orphans(first: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", first + PROGRAM], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "b'holdfast' b'holdfast JOB' b'' True\n", done.stderr


def test_no_function_of_that_name_is_an_oserror() -> None:
    for first in (KERNEL_ONLY, WITHOUT_CALLS):
        program = (
            first + "from outlive.system import prctl\ntry: prctl._libc('nonesuch', 1)\nexcept OSError: print('said')"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
        assert done.stdout == "said\n", done.stderr


@pytest.mark.parametrize("request_number", [hole_punch._UNRESVSP64, 0], ids=["ioctl", "fallocate"])
def test_a_hole_is_read_as_zeros_and_takes_no_space(
    work: Path, request_number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hole_punch, "_UNRESVSP64", request_number)  # 0: no kernel knows it
    fd = os.open(work / "file", os.O_RDWR | os.O_CREAT)
    try:
        os.write(fd, b"x" * (1 << 20))
        os.fsync(fd)
        before = os.fstat(fd).st_blocks
        hole_punch.punch(fd, 1 << 18, (1 << 19) + 7)
        found = os.fstat(fd)
        assert found.st_size == 1 << 20
        assert found.st_blocks <= before - (1 << 18) // 512
        assert os.pread(fd, 4, (1 << 19) + 5) == b"\0\0xx"
        assert os.pread(fd, 2, (1 << 18) - 1) == b"x\0"
        hole_punch.punch(fd, 5 << 30, 6 << 30)  # behind the end, where nothing is
        assert os.fstat(fd).st_size == 1 << 20
    finally:
        os.close(fd)


@pytest.mark.parametrize("request_number", [hole_punch._UNRESVSP64, 0], ids=["ioctl", "fallocate"])
def test_where_there_are_no_holes_the_error_says_so(request_number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hole_punch, "_UNRESVSP64", request_number)
    fd = os.open("/dev/null", os.O_RDWR)
    try:
        with pytest.raises(OSError) as raised:
            hole_punch.punch(fd, 0, 65_536)
        assert raised.value.errno in hole_punch.UNSUPPORTED
    finally:
        os.close(fd)
    read_only = os.open(sys.executable, os.O_RDONLY)
    try:
        with pytest.raises(OSError) as raised:
            hole_punch.punch(read_only, 0, 65_536)
        assert raised.value.errno == errno.EBADF
    finally:
        os.close(read_only)
