"""What bwrap makes of its arguments if the supervisor that writes them is killed."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlive.core.records import GrantedSandbox, Sandbox
from outlive.parts.sandbox.confinement import access, bubblewrap, mounts, session, syscalls
from outlive.parts.sandbox.settings import Settings
from outlive.system import fds, spawn

ARGUMENTS, FILTER, INIT, COPIES = 9, 8, 7, 11
FREE = 80  # above all of these, and of the files that bwrap copies
RAN = "ran"


@pytest.fixture
def made() -> Iterator[mounts.Mounts]:
    made = mounts.Mounts(COPIES)
    yield made
    made.close()


def _spec(workspace: Path) -> Sandbox:
    return access.resolved(
        granted=GrantedSandbox("workspace-write", "loopback", "write"),
        settings=Settings(),
        workspace=str(workspace),
        homes=["/nonexistent"],
        ours=access.Ours([], [], bubblewrap.find(None)),
    )


@pytest.fixture
def whole(tmp_path: Path, made: mounts.Mounts) -> list[bytes]:
    """The arguments of a command whose workspace is `tmp_path`."""
    spec = _spec(tmp_path)
    mounts.add(made, spec, str(tmp_path), lambda: None)
    words = bubblewrap.arguments(spec, {"A": "1"}, str(tmp_path), made.words, last=session._FIRST_PROCESS)
    return words.split(b"\0")[:-1]


def file_of(data: bytes) -> int:
    """Return an fd above those that bwrap is told of."""
    low = fds.memory_file("test", data)
    try:
        return fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, FREE)
    finally:
        os.close(low)


def ran(words: list[bytes], files: dict[int, int]) -> bool:
    """Return whether a shell as the first process runs with these arguments. `files`: what bwrap copies."""
    made = {
        ARGUMENTS: file_of(b"".join(word + b"\0" for word in words)),
        FILTER: file_of(syscalls.program(os.uname().machine, "loopback")),
        INIT: file_of(Path("/bin/sh").read_bytes()),
        **{number: fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FREE) for number, fd in files.items()},
    }
    for fd in files.values():
        if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_PATH == 0:
            os.lseek(fd, 0, os.SEEK_SET)
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


def test_nothing_runs_with_the_first_part_of_the_arguments_alone(whole: list[bytes], made: mounts.Mounts) -> None:
    assert ran(whole, made.files)
    cuts = [*range(0, len(whole), 13), *range(len(whole) - len(session._FIRST_PROCESS) - 2, len(whole))]
    assert [count for count in cuts if ran(whole[:count], made.files)] == []
    assert not ran([*whole[:-1], whole[-1][:-1]], made.files), "the last word was cut"


def test_a_notification_that_cannot_be_started_leaves_no_file_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A supervisor lives on, and tries again with the next notification."""
    spec, null, folder = _spec(tmp_path), os.open(os.devnull, os.O_RDWR), os.open(tmp_path, fds.DIRECTORY)
    sink = spawn.How("/")
    before = fds.open_fds()

    def refused(*_: object, **_named: object) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    for step in ("_init", "_filter", "_spawn"):
        monkeypatch.setattr(session, step, refused)
        with pytest.raises(OSError, match="Too many open files"):
            session.start_sink(spec, ["true"], {}, dict.fromkeys((0, 1, 2), null), sink, folder)
        monkeypatch.undo()
        assert fds.open_fds() == before
    for fd in (null, folder):
        os.close(fd)
