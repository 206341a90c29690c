"""Deleting a directory without ever following a link out of it."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from outlive.system import fault_points

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW


def remove_tree(parent_fd: int, name: str) -> bool:
    """Delete `name` below the directory behind `parent_fd`; links are removed, not followed. False if it was not there.

    Everything goes through directory fds and stays on one device: a path swapped for a link meanwhile changes nothing.
    """
    try:
        fd = os.open(name, _DIRECTORY, dir_fd=parent_fd)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):  # a file or a link
            raise
        os.unlink(name, dir_fd=parent_fd)
        return True
    try:
        _empty(fd, os.fstat(fd).st_dev)
    finally:
        os.close(fd)
    fault_points.at("delete_emptied")
    with contextlib.suppress(FileNotFoundError):
        os.rmdir(name, dir_fd=parent_fd)
    return True


def _empty(fd: int, device: int) -> None:
    """What vanishes meanwhile was deleted by somebody who is at the same."""
    for entry in os.listdir(fd):
        with contextlib.suppress(FileNotFoundError):
            _delete(fd, entry, device)


def _delete(fd: int, entry: str, device: int) -> None:
    found = os.stat(entry, dir_fd=fd, follow_symlinks=False)
    if not stat.S_ISDIR(found.st_mode):
        os.unlink(entry, dir_fd=fd)
        return
    if found.st_dev != device:
        raise OSError(f"{entry} is on another file system")
    inner = os.open(entry, _DIRECTORY, dir_fd=fd)
    try:
        _empty(inner, device)
    finally:
        os.close(inner)
    os.rmdir(entry, dir_fd=fd)
