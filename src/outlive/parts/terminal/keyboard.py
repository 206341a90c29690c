"""The keyboard of a job's terminal: the one person whose keys go to the job.

The file `.keyboard` in the directory of the job names the person, and the process that sends the
keys locks byte 0 of it. So the keyboard is free when that process ends, however it ends. To take
the keyboard from its holder, another process renames a locked file of its own over it: the file of
the former holder then has no name left.

What a model writes does not need the keyboard. Its answers say who holds it.
"""

from __future__ import annotations

import os

from outlive.core.ids import new_id
from outlive.core.quoted import visible
from outlive.core.units import timestamp
from outlive.errors import OutliveError
from outlive.part import Hold
from outlive.parts.terminal import KEYBOARD
from outlive.store import atomic_file
from outlive.store.job_dir import NEW, JobDir
from outlive.system import locks
from outlive.system.fds import Closing

_MOST_BYTES = 4096
_MOST_CHARS = 100


class Keyboard:
    """A keyboard that this process has taken. `free_size`: columns and rows of the terminal while
    no person holds its keyboard, None where they are not known."""

    def __init__(self, fd: int, free_size: list[int] | None) -> None:
        self._fd = fd  # -1: its holder could not be written down
        self.free_size = free_size

    @property
    def is_held(self) -> bool:
        return self._fd == -1 or (self._fd >= 0 and os.fstat(self._fd).st_nlink > 0)

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -2


def take(job: JobDir, held_by: str, size: list[int] | None, *, force: bool = False) -> Keyboard | None:
    """Take the keyboard for `held_by`, and return it; None if another person holds it and `force`
    is false. `size` is the present one of the terminal.

    Where the file cannot be written, such as on a full disk, the keyboard is taken nevertheless,
    and other readers do not see its holder.
    """
    before = _read(job)
    if before is not None and not force:
        return None
    free_size = size if before is None else _size_in(before) or size
    try:
        fd = _written(job, {"format": 1, "held_by": held_by, "since": timestamp(), "size": free_size})
    except OSError:
        fd = -1
    return Keyboard(fd, free_size)


def holder(job: JobDir) -> Hold | None:
    """Return who holds the keyboard; None if no person does."""
    hold = _read(job)
    if hold is None:
        return None
    name = visible(str(hold.get("held_by"))[:_MOST_CHARS])
    return Hold(
        held_by=name,
        since=str(hold.get("since"))[:_MOST_CHARS],
        hint=f"{name} holds the keyboard of this terminal: type nothing while this person does. "
        "poll and screen show what happens; `keyboard` is absent when it is free.",
        warning=f"{name} holds the keyboard: this went between what that person types",
    )


def _written(job: JobDir, content: dict[str, object]) -> int:
    """Write a new file, lock it, and give it its name. Return its fd. Errors: OSError."""
    temporary = f".{KEYBOARD}.{new_id()}"
    fd = job.open_file(temporary, os.O_RDWR | NEW)
    try:
        os.write(fd, atomic_file.dump(content))
        locks.take(fd, 0)
        os.replace(temporary, KEYBOARD, src_dir_fd=job.fd, dst_dir_fd=job.fd)
    except BaseException:
        os.close(fd)
        os.unlink(temporary, dir_fd=job.fd)
        raise
    return fd


def _read(job: JobDir) -> dict[str, object] | None:
    """Return what the holder wrote; None if no process holds the keyboard."""
    try:
        fd = job.open_file(KEYBOARD)
    except OSError:
        return None
    with Closing(fd):
        try:
            return atomic_file.load(os.pread(fd, _MOST_BYTES, 0)) if locks.is_held(fd, 0) else None
        except (OSError, OutliveError):
            return None


def _size_in(content: dict[str, object]) -> list[int] | None:
    size = content.get("size")
    if not isinstance(size, list) or len(size) != 2:
        return None
    return size if all(isinstance(one, int) and 0 < one < 10_000 for one in size) else None
