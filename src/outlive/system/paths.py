"""What stands at a path, and whether a job can change that."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Sequence

from outlive.core.real_path import followed
from outlive.system import fds
from outlive.system.fds import Closing

_PATH_ONLY = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = _PATH_ONLY | os.O_DIRECTORY


def is_in(path: str, folders: Iterable[str]) -> bool:
    return any(folder in (path, "/") or path.startswith(folder + "/") for folder in folders)


def may_change(path: str) -> bool:
    """Return whether this user, and so a job, can write a file, or make entries in a directory, now or after a chmod(2)."""
    try:
        return os.access(path, os.W_OK) or os.lstat(path).st_uid == os.geteuid()
    except OSError:
        return False


def nearest(path: str) -> str:
    """Return a path, or of one at which nothing can be seen the nearest directory above it."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return path


def is_missing(path: str, error: OSError) -> bool:
    """Return whether an error says that nothing is at a path, or nothing that this user, and so a job, could ever reach.
    What cannot be looked at for another reason may be there: a job can change a mode."""
    if isinstance(error, PermissionError):
        return not may_change(nearest(path))
    return isinstance(error, (FileNotFoundError, NotADirectoryError))


def status_of(path: str, *, follow: bool = False) -> os.stat_result | None:
    """Return what stands at a path, or with `follow` what it leads to; None if nothing does. Errors: OSError for what cannot
    be looked at, and may be there."""
    try:
        return os.stat(path, follow_symlinks=follow)
    except OSError as error:
        if not is_missing(path, error):
            raise
        return None


def is_folder(path: str) -> bool:
    """Return whether a path leads to a directory. Errors: those of `status_of`."""
    status = status_of(path, follow=True)
    return status is not None and stat.S_ISDIR(status.st_mode)


def reached(path: str, roots: Iterable[str], *, fixed: Iterable[str] = ()) -> str | None:
    """Return where a path leads; None if a link in a writable directory is on the way, since a job
    may have made it. In `fixed` directories none can."""
    place, links = followed(path)
    return None if any(is_in(link, roots) and not is_in(link, fixed) for link in links) else place


def opened(path: str, identity: Sequence[int] | None = None) -> int:
    """Return an fd of what stands at a path without links. Errors: OSError if a link, or something
    that is not this device and inode, stands in its place."""
    fd = os.open(path, _PATH_ONLY)
    status = os.fstat(fd)
    other = identity is not None and [status.st_dev, status.st_ino] != list(identity)
    if other or stat.S_ISLNK(status.st_mode) or os.readlink(f"/proc/self/fd/{fd}") != path:
        os.close(fd)
        what = "it is a link" if stat.S_ISLNK(status.st_mode) else "another directory stands in its place"
        raise OSError(0, what, path)
    return fd


def make_folders(path: str, mode: int = 0o777) -> None:
    """Make a directory at an absolute path, and those above it that are missing. No link is followed: a job may have put
    it there since the path was looked up. Errors: OSError, also for a link or a file on the way."""
    done, names = "/", [*filter(None, path.split("/"))]
    folder = os.open(done, _FOLDER)
    try:
        for left, name in enumerate(names, 1 - len(names)):
            done = os.path.join(done, name)
            inner = _entered(name, folder, mode if left == 0 else 0o777)
            os.close(folder)
            folder = inner
    except NotADirectoryError:
        raise OSError(0, "it is a link, or no directory", done) from None
    finally:
        os.close(folder)


def _entered(name: str, folder: int, mode: int) -> int:
    """Return an fd of a directory in an open one, which is made if it is missing. Errors: OSError."""
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        with contextlib.suppress(FileExistsError):  # another process made it
            os.mkdir(name, mode, dir_fd=folder)
        return os.open(name, _FOLDER, dir_fd=folder)


def identity(path: str) -> list[int]:
    """Return device and inode of what stands at a path without links. Errors: those of `opened`."""
    with Closing(opened(path)) as fd:
        status = os.fstat(fd)
    return [status.st_dev, status.st_ino]


def change(path: str, known: Sequence[int]) -> str | None:
    """Return a sentence about what stands at a path and has not this identity; None if it has."""
    try:
        os.close(opened(path, known))
    except OSError as error:
        return moved(path, error)
    return None


def moved(path: str, error: OSError) -> str:
    """Return the sentence about a directory that `opened` refused."""
    return f"the directory {path} is not the one that was decided about: {(error.strerror or str(error)).lower()}"


def entry(path: str) -> tuple[int, int] | None:
    """Return device and inode of an entry of a directory; None if it is not there."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def as_listed(path: str) -> str:
    """Return an absolute path with each step as its directory lists it. Where names ignore case (Windows drives in WSL) one
    directory has many spellings, and paths are compared as text."""
    done, found = "", entry("/")
    for name in filter(None, path.split("/")):
        found = found and entry(f"{done}/{name}")
        if found and name.swapcase() != name and entry(f"{done}/{name.swapcase()}") == found:
            names = fds.listed(done or "/")
            name = name if name in names else next((one for one in names if entry(f"{done}/{one}") == found), name)
        done = f"{done}/{name}"
    return done or "/"


def is_in_one(path: str, folder: str) -> bool:
    """Return whether a normal path lies in a directory by whatever spelling: the step that would be it is it."""
    step = "/".join(path.split("/")[: folder.rstrip("/").count("/") + 1]) or "/"
    return step.casefold() == folder.casefold() and (known := entry(folder)) is not None and entry(step) == known


def stamp_of(path: str) -> list[int]:
    """Return what a change of what a path leads to changes; nothing if there is nothing."""
    try:
        return stamp(os.stat(path))
    except OSError:
        return []


def stamp(status: os.stat_result) -> list[int]:
    return [status.st_ino, status.st_ctime_ns, status.st_size]
