"""Find and open the reports of a job.

A job may have left anything where its report is looked for: a FIFO, a device, a link. A file is opened by what it is
(O_PATH) before it is opened for reading. In a sandbox no link below the job's directory is followed, and nothing is
read that the sandbox does not show."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from fnmatch import translate
from itertools import islice
from re import compile as pattern_of

from outlive.core.record import Value
from outlive.core.records import Sandbox
from outlive.errors import OutliveError
from outlive.jobs.starting import boundary
from outlive.parts.reports import bounds
from outlive.system.fds import Closing

_MOST_DEEP = 50  # directories below each other, for **
_ANY_DEPTH = "**"
_MAGIC = frozenset("*?[")
_CLOSE = os.O_CLOEXEC
# Of files and of time stamps: the kernel's clock of files is up to 10 ms behind, and our stamps are in milliseconds
_TICK_NS = 10_000_000
OLDER, LATER = "older than the job", "newer than the end of the job"


class Where(Value):
    """Where and when a job ran. Times are nanoseconds since the epoch; `ended_ns` None: not known."""

    cwd: str
    sandbox: Sandbox | None
    began_ns: int
    ended_ns: int | None


class Found(Value):
    """A file that matches: what is in it, or why it was not read."""

    path: str
    data: bytes
    why: str = ""


def reports(pattern: str, where: Where) -> Iterator[Found]:
    """Yield the files that a path or a glob names, in the order of their names."""
    walk = _Walk(where)
    left = bounds.BYTES
    with_magic = not _MAGIC.isdisjoint(pattern)
    for count, (path, fd) in enumerate(walk.files(pattern)):
        try:
            if count >= bounds.FILES:
                yield Found(pattern, b"", f"beyond the first {bounds.FILES:,} files that match")
                return
            why = _why_not(fd, where)
            if why is None:
                data = _read(fd, left)
                left -= len(data or b"")
                yield Found(path, b"", "too large") if data is None else Found(path, data)
            elif why or not with_magic:
                yield Found(path, b"", why or "no file")
        except OSError as error:
            yield Found(path, b"", f"not readable ({error.strerror})")
        finally:
            os.close(fd)
    if walk.is_over:
        yield Found(pattern, b"", f"beyond the first {bounds.LOOKED:,} names that are looked at")


def _why_not(fd: int, where: Where) -> str | None:
    """Return why a file is not read, None if it is; "" for a directory."""
    status = os.fstat(fd)
    if stat.S_ISDIR(status.st_mode):
        return ""
    if stat.S_ISLNK(status.st_mode):
        return "a link, which is not followed in a sandbox"
    if not stat.S_ISREG(status.st_mode):
        return "no regular file"
    if where.sandbox is not None and not _is_shown(fd, where.sandbox):
        return "not in what the sandbox of the job shows"
    if status.st_mtime_ns < where.began_ns - _TICK_NS:
        return OLDER
    if where.ended_ns is not None and status.st_mtime_ns > where.ended_ns + _TICK_NS:
        return LATER
    return None


def _is_shown(fd: int, sandbox: Sandbox) -> bool:
    try:
        boundary.of_part().require_readable(sandbox, os.readlink(f"/proc/self/fd/{fd}"), "report")
    except OutliveError:
        return False
    return True


def _read(fd: int, most: int) -> bytes | None:
    """Return what is in a file that O_PATH opened; None if it has more than `most` bytes."""
    if os.fstat(fd).st_size > most:
        return None
    opened = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_NONBLOCK | _CLOSE)
    with open(opened, "rb") as file:
        data = file.read(most + 1)  # it may grow
    return data if len(data) <= most else None


class _Walk:
    """The way to the files that match. `is_over`: it would have been too long."""

    def __init__(self, where: Where) -> None:
        self._where = where
        self._follow = 0 if where.sandbox is None else os.O_NOFOLLOW
        self._left = bounds.LOOKED
        self.is_over = False

    def files(self, pattern: str) -> Iterator[tuple[str, int]]:
        """Yield the path of each file and its fd, which the caller closes."""
        if self._where.sandbox is not None:  # no step from its directory on follows a link
            pattern = os.path.relpath(os.path.join(self._where.cwd, pattern), self._where.cwd)
            if pattern.split("/")[0] == "..":
                return
        names = [name for name in pattern.split("/") if name not in ("", ".")]
        parts = [name for at, name in enumerate(names) if name != _ANY_DEPTH or names[at - 1 : at] != [name]]
        if not parts:
            return
        try:
            base = os.open("/" if pattern.startswith("/") else self._where.cwd, os.O_PATH | os.O_DIRECTORY | _CLOSE)
        except OSError:
            return
        seen: set[str] = set()  # two ** may lead to one file in several ways
        with Closing(base):
            if self._where.sandbox is not None and not _is_shown(base, self._where.sandbox):
                return
            for path, fd in self._below(base, "/" if pattern.startswith("/") else "", parts, 0):
                if path in seen:
                    os.close(fd)
                    continue
                seen.add(path)
                yield path, fd

    def _below(self, folder: int, path: str, parts: list[str], depth: int) -> Iterator[tuple[str, int]]:
        name, *rest = parts
        if name != _ANY_DEPTH:
            for entry in self._names(folder, name) if not _MAGIC.isdisjoint(name) else [name]:
                yield from self._at(folder, entry, path, rest, depth)
            return
        yield from self._below(folder, path, rest or ["*"], depth)
        for entry in self._names(folder, "*") if depth < _MOST_DEEP else ():
            yield from self._at(folder, entry, path, parts, depth + 1, follow=os.O_NOFOLLOW)

    def _at(
        self, folder: int, name: str, path: str, rest: list[str], depth: int, *, follow: int | None = None
    ) -> Iterator[tuple[str, int]]:
        kind = os.O_DIRECTORY if rest else 0
        flags = os.O_PATH | _CLOSE | kind | (self._follow if follow is None else follow)
        try:
            fd = os.open(name, flags, dir_fd=folder)
        except (OSError, ValueError):
            return
        if not rest:
            yield f"{path}{name}", fd
            return
        with Closing(fd):
            yield from self._below(fd, f"{path}{name}/", rest, depth)

    def _names(self, folder: int, pattern: str) -> list[str]:
        matches = pattern_of(translate(pattern)).match
        try:
            opened = os.open(".", os.O_RDONLY | os.O_DIRECTORY | _CLOSE, dir_fd=folder)
            with Closing(opened), os.scandir(opened) as entries:
                names = [entry.name for entry in islice(entries, self._left)]
                self.is_over = self.is_over or next(entries, None) is not None
        except OSError:
            return []
        self._left -= len(names)
        return sorted(name for name in names if matches(name) and (name[0] != "." or pattern[0] == "."))
