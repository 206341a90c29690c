"""What lies in a directory while programs of ours write there."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from support.wait import until

T = TypeVar("T")


def entries(place: Path) -> dict[Path, os.stat_result]:
    """Return what lstat(2) says of `place` and of everything below it. A temporary file that was there at any of the
    looks is in the answer too."""
    return _looked_at(place, os.lstat)


def contents(place: Path) -> dict[Path, bytes]:
    """Return what is in each regular file below `place`."""

    def content(path: Path) -> bytes | None:
        return path.read_bytes() if stat.S_ISREG(path.lstat().st_mode) else None

    return {path: data for path, data in _looked_at(place, content).items() if data is not None}


def holding(text: str, place: Path) -> list[Path]:
    """Return the files below a place that have a text in them."""
    return [path for path, content in contents(place).items() if text.encode() in content]


def _looked_at(place: Path, look: Callable[[Path], T]) -> dict[Path, T]:
    """Walk until no name vanishes between listing and look: what a vanished name was renamed to may have been looked at
    before, with its old content."""
    found: dict[Path, T] = {}
    vanished: list[Path] = []

    def walked() -> bool:
        vanished.clear()
        waiting = [place]
        while waiting:
            path = waiting.pop()
            try:
                found[path] = look(path)
                if path.is_dir() and not path.is_symlink():
                    waiting += path.iterdir()
            except FileNotFoundError:
                vanished.append(path)
        return not vanished

    until(walked, what=f"a walk through {place} that meets every name which it has listed")
    return found
