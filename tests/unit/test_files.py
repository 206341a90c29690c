"""Small files that are replaced as a whole."""

from __future__ import annotations

import os
from pathlib import Path

from outlive.store import files


def test_what_somebody_of_our_pid_left_behind_stops_no_write(work: Path) -> None:
    """Pids are used again, soon so in a container; whoever was killed between write and rename left a name with it."""
    fd = os.open(work, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for number in range(files._counter + 1, files._counter + 4):
            (work / f".state.json.{os.getpid()}.{number}").write_bytes(b"left")
        files.write_atomic(fd, "state.json", b"new")
    finally:
        os.close(fd)
    assert (work / "state.json").read_bytes() == b"new"
    assert sorted(path.read_bytes() for path in work.iterdir()) == [b"left"] * 3 + [b"new"]
