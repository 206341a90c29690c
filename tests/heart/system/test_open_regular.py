"""No file that a job may have put a link to a device in the place of is opened before it is looked at: some begin something."""

from __future__ import annotations

import builtins
import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from outlive import config
from outlive.core.env_files import read_env_files
from outlive.core.records import Definition, Sandbox
from outlive.errors import OutliveError
from outlive.jobs.command import given_in
from outlive.jobs.definition import open_stdin
from outlive.jobs.starting.boundary import reading_in
from outlive.parts.after import chain
from outlive.parts.failures.causes import line_ends
from outlive.parts.permission.approvals.files import _first_line
from outlive.parts.safe_file import ConfigFile
from outlive.parts.sandbox.confinement import gitconfig
from outlive.system import spawn
from outlive.system.fds import Closing, open_regular

opened = os.open


@pytest.fixture
def touched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths by which the device was opened for more than a look."""
    found: list[str] = []

    def recorded(path: str, flags: int, *more: int, **where: int) -> int:
        fd = opened(path, flags, *more, **where)
        if not flags & os.O_PATH and os.readlink(f"/proc/self/fd/{fd}") == "/dev/full":
            found.append(path)
        return fd

    known = builtins.open
    monkeypatch.setattr(os, "open", recorded)
    monkeypatch.setattr(  # which does not call os.open by itself
        builtins, "open", lambda path, *more, **how: known(path, *more, **{"opener": recorded, **how})
    )
    return found


def command(path: str) -> Definition:
    return Definition(command=["sh", path], cwd="/")


@pytest.mark.parametrize(
    "read",
    [
        open_regular,
        _first_line,
        lambda path: read_env_files([path]),
        lambda path: list(line_ends.scripts(command(path))),
        lambda path: gitconfig.without_secrets(path, "ignore"),
        lambda path: ConfigFile(path).read(),
        lambda path: open_stdin(path, reading_in(Sandbox(mode="workspace-write", roots=["/ws"]))),
        lambda path: given_in({"script": path, "command": []}),
        chain._of_file,
        lambda path: config.load({}, path),
    ],
    ids="open interpreter env_file line_ends gitconfig project stdin script chain config".split(),
)
def test_a_device_is_not_opened(tmp_path: Path, touched: list[str], read: Callable[[str], object]) -> None:
    link = tmp_path / "link"
    link.symlink_to("/dev/full")
    try:
        read(str(link))
    except (OSError, OutliveError):
        pass
    assert not touched


def test_a_device_that_takes_the_place_of_a_program_between_two_looks_is_not_opened(
    tmp_path: Path, touched: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job changes the name while its supervisor looks why the program could not be started."""
    program, looked = tmp_path / "program", os.stat
    program.write_text("#!/nowhere\n")

    def turned(path: str, **how: bool) -> os.stat_result:
        found = looked(path, **how)
        if path == str(program):
            program.unlink()
            program.symlink_to("/dev/full")
        return found

    monkeypatch.setattr(os, "stat", turned)
    said = spawn.why_not(str(program), {}, "/", OSError(errno.ENOENT, "x"))
    assert said == f"{program}: its interpreter /nowhere was not found"
    assert not touched


def test_a_regular_file_is_read_and_a_link_only_where_one_may_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    (tmp_path / "link").symlink_to("file")
    for name in ("file", "link"):
        with Closing(open_regular(str(tmp_path / name))) as fd:
            assert os.read(fd, 9) == b"text"
    with pytest.raises(OSError, match="no regular file"):
        open_regular(str(tmp_path / "link"), os.O_NOFOLLOW)
