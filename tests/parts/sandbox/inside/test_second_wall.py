"""Landlock by itself: the first process of a sandbox, without a mount of its own, so that nothing else is in the way."""

from __future__ import annotations

import binascii
import os
import shutil
import socket
from pathlib import Path

import pytest

from outlive.parts.sandbox.confinement import syscalls
from outlive.parts.sandbox.confinement.programs import INIT
from outlive.system import fds, spawn
from support import landlock

pytestmark = pytest.mark.skipif(landlock.version() < 3, reason="Landlock of this kernel does not tell all writes apart")


def under_landlock(script: str, *writable: Path) -> str:
    """What a shell script prints, where Landlock alone limits its writes to `writable`."""
    said, status = started(script, b"".join(os.fsencode(path) + b"\0" for path in (*map(str, writable), "")))
    assert status == 0
    return said


def started(script: str, word: bytes, *before: str) -> tuple[str, int]:
    """What a shell script prints, and the status of the first process, which was given this list. `before`: the words of
    what starts it."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    reading, writing = os.pipe()
    program = fds.memory_file("init", binascii.a2b_base64(INIT[os.uname().machine]))
    listed = fds.memory_file("writable", word)
    nothing = os.open(os.devnull, os.O_RDWR)
    calls = fds.memory_file("filter", syscalls.program(os.uname().machine, "open"))
    proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY)
    own = {0: nothing, 1: writing, 2: writing, 3: there.fileno(), 4: writing, 8: calls, 10: listed, 12: proc}
    with here, there, open(reading, encoding="utf-8") as output:
        # Through high numbers: no source may be the target of another
        high = {target: os.dup2(fd, 200 + target) for target, fd in {**own, 20: program}.items()}
        try:
            words = [*before, "/proc/self/fd/20", "-", "/bin/sh", "sh", "-c", script]
            how = spawn.How("/", prepare=landlock.gain_no_rights)
            pid = spawn.spawn(words, {"PATH": os.environ["PATH"]}, high, how)
        finally:
            for fd in (writing, program, listed, calls, nothing, proc, *high.values()):
                os.close(fd)
        return output.read(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_landlock_alone_refuses_every_kind_of_write_elsewhere(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "there").write_text("as it was")
    (outside / "full").mkdir()
    ways = (
        "echo x > {}/there", "echo x >> {}/there", "truncate -s 0 {}/there", "touch {}/new", "mkdir {}/folder",
        "rmdir {}/full", "rm {}/there", "mv {}/there mine", "ln -s x {}/link", "mkfifo {}/fifo",
        "echo x > own; ln own {}/linked", "echo x > moved; mv moved {}/moved",
    )  # fmt: skip
    for way in ways:
        script = f"cd {inside}; ( {way.format(outside)} ) 2>&1 && echo WROTE"
        assert "WROTE" not in (said := under_landlock(script, inside)), (way, said)
        assert "denied" in said or "cross-device" in said, (way, said)
    assert (outside / "there").read_text() == "as it was"
    assert sorted(os.listdir(outside)) == ["full", "there"]


def test_what_is_listed_is_written_under_landlock(tmp_path: Path) -> None:
    assert under_landlock(f"cd {tmp_path}; mkdir a; echo x > a/b; mv a/b c; cat c", tmp_path) == "x\n"


@pytest.mark.parametrize("word", [b"", b"/tmp", b"/tmp\0", b"/tmp\0/var/tmp\0"])
def test_nothing_runs_with_a_part_of_the_list(word: bytes) -> None:
    assert started("echo ran", word) == ("", 127)


@pytest.mark.skipif(shutil.which("unshare") is None, reason="there is no unshare(1)")
def test_nothing_runs_where_there_is_no_room_for_the_namespace_that_locks_mounts() -> None:
    """Where namespaces are forbidden it runs without (EPERM); a job could have used up all that there are (ENOSPC)."""
    limited = ("unshare", "--user", "--map-root-user", "sh", "-c")
    room = 'echo {} > /proc/sys/user/max_user_namespaces && exec "$0" "$@"'
    if started("echo ran", b"/tmp\0\0", *limited, room.format(9)) != ("ran\n", 0):
        pytest.skip("this user may make no namespaces")
    said, status = started("echo ran", b"/tmp\0\0", *limited, room.format(0))
    assert status == 127 and said.endswith("no user namespace is left (user.max_user_namespaces)\n")
