"""No file that a job may have put a link to a device in the place of is opened before it is looked at: some begin something."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from outlive import config
from outlive.core.env_files import read_env_files
from outlive.core.records import Sandbox
from outlive.jobs.command import given_in
from outlive.jobs.definition import open_stdin
from outlive.jobs.starting.boundary import reading_in
from outlive.parts.safe_file import ConfigFile
from outlive.system import spawn
from outlive.system.fds import Closing, open_regular
from support.devices import devices_opened, opens_device


@pytest.mark.parametrize(
    "read",
    [
        open_regular,
        lambda path: read_env_files([path]),
        lambda path: ConfigFile(path).read(),
        lambda path: open_stdin(path, reading_in(Sandbox(mode="workspace-write", roots=["/ws"]))),
        lambda path: given_in({"script": path, "command": []}),
        lambda path: config.load({}, path),
    ],
    ids="open env_file project stdin script config".split(),
)
def test_a_device_is_not_opened(tmp_path: Path, read: Callable[[str], object]) -> None:
    assert not opens_device(tmp_path, read)


@pytest.mark.parametrize(
    "read",
    [lambda path: open(path).close(), lambda path: os.close(os.open(path, os.O_RDONLY))],
    ids=["open", "os.open"],
)
def test_the_opening_of_a_device_would_be_seen(tmp_path: Path, read: Callable[[str], object]) -> None:
    assert opens_device(tmp_path, read)


def test_a_device_that_takes_the_place_of_a_program_between_two_looks_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    with devices_opened() as touched:
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
