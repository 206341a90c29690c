"""Small files that are replaced as a whole."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from outlive.store import atomic_file
from outlive.system import fault_points

RECORD = {
    "format": 1,
    "command": ["echo", 'a "quote", a \\ and an é'],
    "checked": None,
    "inner": {"checksum": "ffffffff"},
}


def test_what_somebody_of_our_pid_left_behind_stops_no_write(work: Path) -> None:
    """Pids are used again, soon so in a container. A process that was killed between write and rename left a name."""
    fd = os.open(work, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for number in range(atomic_file._counter + 1, atomic_file._counter + 4):
            (work / f".state.json.{os.getpid()}.{number}").write_bytes(b"left")
        atomic_file.write_atomic(fd, "state.json", b"new")
    finally:
        os.close(fd)
    assert (work / "state.json").read_bytes() == b"new"
    assert sorted(path.read_bytes() for path in work.iterdir()) == [b"left"] * 3 + [b"new"]


def test_a_write_that_fails_leaves_nothing_behind(work: Path) -> None:
    (work / "state.json").mkdir()
    fd = os.open(work, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with pytest.raises(IsADirectoryError):
            atomic_file.write_atomic(fd, "state.json", b"new")
    finally:
        os.close(fd)
    assert [path.name for path in work.iterdir()] == ["state.json"]


def test_a_temporary_file_is_0600_whatever_the_umask(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Listings of a job directory miss it nearly always: it is there for some microseconds."""
    modes = {}

    def look(point: str) -> None:
        modes.update({path.name: stat.S_IMODE(path.lstat().st_mode) for path in work.iterdir()})

    monkeypatch.setattr(fault_points, "at", look)
    before = os.umask(0)
    fd = os.open(work, os.O_RDONLY | os.O_DIRECTORY)
    try:
        atomic_file.write_atomic(fd, "state.json", b"new")
    finally:
        os.close(fd)
        os.umask(before)
    assert modes == {f".state.json.{os.getpid()}.{atomic_file._counter}": 0o600}
    assert stat.S_IMODE((work / "state.json").lstat().st_mode) == 0o600


def test_a_record_is_read_as_it_was_written() -> None:
    assert atomic_file.load(atomic_file.dump(RECORD)) == RECORD


def test_a_changed_bit_anywhere_in_a_record_is_found() -> None:
    """But for the name of the member itself: a record without it is valid."""
    for bit in [0x01, 0x04, 0x40]:
        whole = atomic_file.dump(RECORD)
        name = whole.rindex(b"checksum")
        for at in [*range(name - 1), *range(name + 9, len(whole) - 1)]:
            changed = bytearray(whole)
            changed[at] ^= bit
            with pytest.raises(atomic_file.Damaged):
                atomic_file.load(bytes(changed))


def test_a_record_of_another_layout_has_the_checksum_of_ours() -> None:
    layouts: list[dict[str, Any]] = [{"indent": 2}, {"ensure_ascii": False}, {"sort_keys": True}, {}]
    for layout in layouts:
        sealed = json.loads(atomic_file.dump(RECORD))
        told = json.dumps(sealed, **layout).encode()
        if not layout.get("sort_keys"):  # the order of the members is part of what is summed up
            assert atomic_file.load(told) == atomic_file.load(told + b"\n") == RECORD
        sealed["command"] = ["rm"]
        with pytest.raises(atomic_file.Damaged, match="checksum"):
            atomic_file.load(json.dumps(sealed, **layout).encode())


def test_a_record_without_a_checksum_is_valid() -> None:
    assert atomic_file.load(b'{"a":1}') == {"a": 1}


@pytest.mark.parametrize("length", [0, 1, 5_000, 3 << 20])
@pytest.mark.parametrize("off", [-5_000, -1, 0, 1])
def test_a_file_that_changes_while_it_is_read_is_read_to_its_end(
    work: Path, monkeypatch: pytest.MonkeyPatch, length: int, off: int
) -> None:
    content = b"x" * length
    (work / "record").write_bytes(content)
    opened = atomic_file._opened
    # What the file had when it was opened
    monkeypatch.setattr(atomic_file, "_opened", lambda *words: (opened(*words)[0], max(0, length + off)))
    fd = os.open(work, os.O_RDONLY)
    try:
        assert atomic_file.read(fd, "record") == content
        most = max(0, length + off)
        assert atomic_file.read(fd, "record", most) == content[:most], "it grew, but no more is taken in"
    finally:
        os.close(fd)
