"""Where a path leads, and which links decide that."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence

_PATH_ONLY = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_STEPS = 1000  # names and links of one path: links may lead in a circle


def is_in(path: str, folders: Iterable[str]) -> bool:
    return any(folder in (path, "/") or path.startswith(folder + "/") for folder in folders)


def reached(path: str, roots: Iterable[str], *, fixed: Iterable[str] = ()) -> str | None:
    """Return where a path leads; None if a link in a writable directory is on the way, since a job
    may have made it. In `fixed` directories none can."""
    place, links = followed(path)
    return None if any(is_in(link, roots) and not is_in(link, fixed) for link in links) else place


def followed(path: str) -> tuple[str | None, list[str]]:
    """Return where a path leads, None for a circle of links, and the links on the way."""
    done, left = "/", [*filter(None, path.split("/"))]
    links: list[str] = []
    for _ in range(_MOST_STEPS):
        if not left:
            return done, links
        here = os.path.normpath(os.path.join(done, left.pop(0)))
        try:
            target = os.readlink(here)
        except OSError:
            done = here
            continue
        links.append(here)
        done = "/" if target.startswith("/") else done
        left = [*filter(None, target.split("/")), *left]
    return None, links


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


def identity(path: str) -> list[int]:
    """Return device and inode of what stands at a path without links. Errors: those of `opened`."""
    fd = opened(path)
    try:
        status = os.fstat(fd)
    finally:
        os.close(fd)
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


def spelled_twice(paths: Iterable[str], areas: Iterable[str]) -> tuple[str, str] | None:
    """Return the first of these paths that has another spelling in the directories `areas`, and the directory that
    ignores case; None if none has.

    For the kernel each spelling may be an entry of its own (Windows drives in WSL): what is mounted on `.git` does not
    lie on `.GIT` then.
    """
    tops = list(areas)
    steps: dict[str, str] = {}  # what is on the way to a path → the path
    for path in paths:
        step = path
        while is_in(step, tops) and step not in tops and step not in steps:
            steps[step] = path
            step = os.path.dirname(step)
    return next(((path, os.path.dirname(step)) for step, path in steps.items() if _has_another_spelling(step)), None)


def _has_another_spelling(path: str) -> bool:
    folder, name = os.path.split(path)
    other = name.swapcase()
    if other == name or entry(path) is None or entry(os.path.join(folder, other)) != entry(path):
        return False
    return other not in os.listdir(folder)  # two entries of one file (a hard link) are two


def entry(path: str) -> tuple[int, int] | None:
    """Return device and inode of an entry of a directory; None if it is not there."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def stamp_of(path: str) -> list[int]:
    """Return what a change of what a path leads to changes; nothing if there is nothing."""
    try:
        return stamp(os.stat(path))
    except OSError:
        return []


def stamp(status: os.stat_result) -> list[int]:
    return [status.st_ino, status.st_ctime_ns, status.st_size]
