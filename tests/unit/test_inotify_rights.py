"""Files and directories that may not be read: what is watched for of them all the same."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlive.system import inotify
from support.seen import See, made, seen_by_tests

try:
    inotify.Watch("/").close()
except OSError as reason:
    pytest.skip(f"no inotify here: {reason}", allow_module_level=True)

NOBODY = 65534


@pytest.fixture
def see() -> Iterator[See]:
    yield from seen_by_tests()


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory that each user can reach. As root the test becomes another user while it runs."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        path = Path(name)
        path.chmod(0o777)
        was = os.geteuid()
        if was == 0:
            os.seteuid(NOBODY)
        try:
            yield path
        finally:
            os.seteuid(was)
            for directory in [path, *path.rglob("*")]:
                directory.chmod(0o700)


def test_a_file_that_may_not_be_read_is_told_of_by_its_directory(see: See, shared: Path) -> None:
    file = made(shared / "file")
    file.chmod(0o200)
    seen = see(file)
    file.write_text("more")
    assert seen.told()
    file.unlink()
    assert seen.told()


def test_a_directory_above_that_may_not_be_read_does_no_harm(see: See, shared: Path) -> None:
    (shared / "a" / "b" / "c").mkdir(parents=True)
    (shared / "a").chmod(0o100)
    (shared / "a" / "b").chmod(0o100)
    seen = see(shared / "a" / "b" / "c" / "file")
    (shared / "a" / "b" / "c" / "file").touch()
    assert seen.told()


def test_a_directory_of_the_file_that_may_not_be_read_is_refused(shared: Path) -> None:
    (shared / "a").mkdir()
    (shared / "a").chmod(0o300)
    with pytest.raises(PermissionError):
        inotify.Watch(str(shared / "a" / "file"))


def test_a_directory_that_may_not_be_read_any_more_ends_the_watch(shared: Path, see: See) -> None:
    (shared / "a").mkdir()
    seen = see(shared / "a" / "file")
    (shared / "a").chmod(0o300)
    with pytest.raises(PermissionError):
        seen.told()


def test_a_directory_that_is_opened_later_is_entered(see: See, shared: Path) -> None:
    (shared / "a" / "b").mkdir(parents=True)
    (shared / "a").chmod(0o400)
    seen = see(shared / "a" / "b" / "file")
    (shared / "a").chmod(0o700)
    assert seen.told()
    (shared / "a" / "b" / "file").touch()
    assert seen.told()
