"""What a process does to itself by calls that Python has no function for, with and without the C half of ctypes."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from outlive.system import prctl
from support.wait import until

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


def test_a_process_is_renamed_and_takes_orphans() -> None:
    for first in [KERNEL_ONLY, WITHOUT_CALLS, WITHOUT_MEMORY]:
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


def test_how_a_child_ended_is_told_where_the_kernel_is_not_asked_for_its_use_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in (None, 0):
        monkeypatch.setattr(prctl, "_waitid", number)
        for words, status in [(("sh", "-c", "exit 3"), 3 << 8), (("sh", "-c", "kill -9 $$"), 9)]:
            child = subprocess.Popen(words)
            ended = until(lambda pid=child.pid: prctl.ended_child(pid), what="the end of the child")
            assert ended[0] == status
            assert (ended[1] is None) is (number == 0)
            child.wait()  # it was not reaped
            with pytest.raises(ChildProcessError):
                prctl.ended_child(child.pid)
        child = subprocess.Popen(["sleep", "600"])
        assert prctl.ended_child(child.pid) is None
        child.kill()
        child.wait()


def test_a_file_is_watched_whose_times_change_or_that_a_writer_closes_and_no_other_is(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    fd = prctl.watch(str(tmp_path / "file"))

    def tells(action: Callable[[], object]) -> bool:
        action()
        told = bool(select.select([fd], [], [], 0)[0])
        if told:
            os.read(fd, 4096)
        return told

    try:
        assert tells(lambda: os.utime(tmp_path / "file"))
        assert tells(lambda: (tmp_path / "file").write_text("more"))
        assert not tells((tmp_path / "file").read_text)
        assert not tells((tmp_path / "other").touch)
    finally:
        os.close(fd)
    with pytest.raises(OSError, match="watches no more files"):
        prctl.watch(str(tmp_path / "missing"))
