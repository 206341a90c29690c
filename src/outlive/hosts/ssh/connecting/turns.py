"""Turns of the mirrors that log in to one machine.

sshd(8) drops logins beyond 10 at a time at random (`MaxStartups`). The mirrors of a job root
therefore log in a few at a time: each holds a lock on one byte of a file meanwhile. The kernel gives
the turn of a killed mirror back.
"""

from __future__ import annotations

import os
import zlib

from outlive.annotations import Callable
from outlive.core.host_settings import HostSettings
from outlive.system import locks

AT_ONCE = 5  # other programs log in too
_NAME = ".logins-"
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class Turns:
    """The turns of one mirror at the machine with these settings. `on_wait()` is called when it is
    the turn of others."""

    def __init__(self, root: str, settings: HostSettings, on_wait: Callable[[], None]) -> None:
        words = [settings.target or "", *(settings.options or ())]
        self._path = os.path.join(root, f"{_NAME}{zlib.crc32(chr(0).join(words).encode()):08x}")
        self._fd = -1
        self._on_wait = on_wait

    def take(self) -> bool:
        """Return whether this mirror may log in now. Where no file can be written, each may."""
        if self._fd >= 0:
            return True
        try:
            fd = os.open(self._path, _FLAGS, 0o600)
        except OSError:
            return True
        try:
            if any(locks.take(fd, byte) for byte in range(AT_ONCE)):
                self._fd = fd
                return True
        except OSError:  # a file system without locks
            os.close(fd)
            return True
        os.close(fd)
        self._on_wait()
        return False

    def give_back(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
