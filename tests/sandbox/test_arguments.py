"""What bwrap makes of its arguments if the supervisor that writes them is killed."""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path

import pytest

from outlive.sandbox import bubblewrap, session, syscalls, view
from outlive.system import fds

ARGUMENTS, FILTER, INIT = 9, 8, 7
RAN = "ran"


@pytest.fixture
def whole(tmp_path: Path) -> list[bytes]:
    """The arguments of a command whose workspace is `tmp_path`."""
    spec = view.resolved(
        mode="workspace-write",
        network="loopback",
        settings={"write": [], "show": [], "hide": [], "environment": []},
        workspace=str(tmp_path),
        homes=["/nonexistent"],
        secret=[],
        installed=[],
        bwrap=bubblewrap.find(None),
    )
    words = bubblewrap.arguments(spec, {"A": "1"}, str(tmp_path), filter_fd=FILTER, last=session._FIRST_PROCESS)
    return words.split(b"\0")[:-1]


def file_of(data: bytes) -> int:
    """Return an fd above those that bwrap is told of."""
    low = fds.memory_file("test", data)
    try:
        return fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, 20)
    finally:
        os.close(low)


def ran(words: list[bytes]) -> bool:
    """Return whether a shell as the first process runs with these arguments."""
    made = {
        ARGUMENTS: file_of(b"".join(word + b"\0" for word in words)),
        FILTER: file_of(syscalls.program(os.uname().machine, "loopback")),
        INIT: file_of(Path("/bin/sh").read_bytes()),
    }
    command = [bubblewrap.find(None), "--args", str(ARGUMENTS), "--", session._PROGRAM, "-c", f"echo {RAN}"]
    try:
        script = "".join(f"exec {target}<&{fd}; " for target, fd in made.items())
        done = subprocess.run(
            ["bash", "-c", f'{script} exec "$@"', "bash", *command],
            pass_fds=[*made.values()],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
            env={},
        )
    finally:
        for fd in made.values():
            os.close(fd)
    return RAN.encode() in done.stdout


def test_nothing_runs_with_the_first_part_of_the_arguments_alone(whole: list[bytes]) -> None:
    assert ran(whole)
    cuts = [*range(0, len(whole), 7), *range(len(whole) - len(session._FIRST_PROCESS) - 2, len(whole))]
    assert [count for count in cuts if ran(whole[:count])] == []
    assert not ran([*whole[:-1], whole[-1][:-1]]), "the last word was cut"
