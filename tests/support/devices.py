"""What opens a device that a link leads to."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from outlive.errors import OutliveError


@contextmanager
def devices_opened() -> Iterator[list[str]]:
    """Give the paths by which /dev/full is opened for more than a look while this lasts."""
    found: list[str] = []
    opened, known = os.open, builtins.open

    def recorded(path: str, flags: int, *more: int, **where: int) -> int:
        fd = opened(path, flags, *more, **where)
        if not flags & os.O_PATH and os.readlink(f"/proc/self/fd/{fd}") == "/dev/full":
            found.append(path)
        return fd

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(os, "open", recorded)
        monkeypatch.setattr(  # which does not call os.open by itself
            builtins, "open", lambda path, *more, **how: known(path, *more, **{"opener": recorded, **how})
        )
        yield found


def opens_device(folder: Path, read: Callable[[str], object]) -> bool:
    """Return whether what reads a file opens the device that a link in place of the file leads to."""
    link = folder / "link"
    link.symlink_to("/dev/full")
    with devices_opened() as found:
        try:
            read(str(link))
        except (OSError, OutliveError):
            pass
    return bool(found)
