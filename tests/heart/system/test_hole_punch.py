"""A hole in a file, by both of the kernel's ways to make one."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from outlive.system import hole_punch


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
