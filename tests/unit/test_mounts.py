"""What kind of file system an open file lies on."""

from __future__ import annotations

import os
from pathlib import Path

from outlive.system import mounts
from support.mounts import Mounts


def _type_of(path: str | Path) -> str:
    fd = os.open(path, os.O_RDONLY)
    try:
        return mounts.type_of(fd)
    finally:
        os.close(fd)


def test_the_kernel_says_what_a_file_lies_on(work: Path, mount: Mounts) -> None:
    assert _type_of("/proc") == "proc"
    path = mount("one", "size=1m,mode=700")
    assert _type_of(path) == "tmpfs"
    mount("one", "size=1m,mode=700")
    (path / "file").touch()
    assert _type_of(path / "file") == "tmpfs"
    assert _type_of(work) == _type_of(work.parent) != ""


def test_of_what_is_not_mounted_anywhere_nothing_is_said() -> None:
    read, write = os.pipe()
    assert mounts.type_of(read) == ""
    os.close(read)
    os.close(write)
    assert mounts.type_of(read) == "", "not open at all"
