"""Small files that hold either the old or the new content, never a mixture."""

from __future__ import annotations

import errno
import json
import os
import stat
import zlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from outlive import limits
from outlive.core.members import parse_json
from outlive.errors import OutliveError
from outlive.system import fault_points, fds
from outlive.system.fds import Closing

_counter = 0
# A regular file ignores O_NONBLOCK
_SAFE = os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
_SEAL = b',"checksum":"'
_SEAL_BYTES = len(_SEAL) + len('01234567"}\n')  # what `dump` puts behind the other members


class Damaged(OutliveError):
    """A file exists, but does not hold what was written into it. `why`: what is wrong with it, in a
    few words."""

    def __init__(self, why: str) -> None:
        super().__init__(
            "io_error",
            f"a file of the job cannot be read: {why}",
            hint="Its output can still be read with log and tail; remove deletes it.",
        )
        self.why = why


def write_atomic(dir_fd: int, name: str, data: bytes, unrenamed: str = "", *, promised: bool = True) -> None:
    """Replace `name` in the directory behind `dir_fd` (mode 0600). The new content becomes visible
    at once and whole. Errors: OSError.

    The new content is synced before the rename: XFS and btrfs may keep the rename through a power
    cut without the content, because the sync of any other file commits it, and leave an empty file.
    So after a cut `name` has its old or its new content (`sync` the directory to be sure of the
    new one). With `promised` False there is no sync: for content that was never reported as
    durable, or that another synced file tells as well.

    The temporary name holds pid and a counter and is created exclusively: two writers never share
    one. `unrenamed`: the fault point between writing and renaming.
    """
    temporary, fd = _temporary(dir_fd, name)
    try:
        with Closing(fd):
            fds.write_all(fd, data)
            if promised:
                os.fdatasync(fd)
        fault_points.at(unrenamed)
        os.replace(temporary, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    except BaseException:
        unlink(dir_fd, temporary)
        raise


def unlink(dir_fd: int, name: str) -> None:
    """Delete a file, if there is one and the file system is not read-only."""
    with suppress(OSError):
        os.unlink(name, dir_fd=dir_fd)


def _temporary(dir_fd: int, name: str) -> tuple[str, int]:
    """Create a temporary file; return its name and fd. A name that is taken belongs to a process
    with our pid that was killed before the rename, or that lives in another pid namespace: use the
    next one."""
    global _counter
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    while True:
        _counter += 1
        temporary = f".{name}.{os.getpid()}.{_counter}"
        try:
            return temporary, os.open(temporary, flags, 0o600, dir_fd=dir_fd)
        except FileExistsError:
            continue


def write_reserved(dir_fd: int, reserved: str, name: str, data: bytes, unrenamed: str = "") -> None:
    """Replace `name` by the file `reserved`, whose space was taken before, with `data` in it. Unlike
    write_atomic this needs no space on the disk, neither for data nor for a name. Errors: OSError.

    The file is synced before the rename: else a power cut could leave the new name with the zeros
    of the reserve.
    """
    with Closing(open_regular(dir_fd, reserved, os.O_WRONLY)) as fd:
        written = os.pwrite(fd, data, 0)
        if written < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.ftruncate(fd, written)
        os.fdatasync(fd)
    fault_points.at(unrenamed)
    os.replace(reserved, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)


class NotOurs(OSError):
    """What stands in the place of a file of ours cannot be one: it is no regular file, or longer
    than any that we write. A job may put anything into its directory."""


def open_regular(dir_fd: int, name: str, flags: int = os.O_RDONLY) -> int:
    """Open a regular file in the directory behind `dir_fd`. This never waits, as opening a FIFO
    would. Errors: NotOurs, also for a symbolic link; OSError."""
    return _opened(dir_fd, name, flags)[0]


def open_to_write(dir_fd: int, name: str, flags: int = os.O_WRONLY) -> int:
    """Open a regular file in the directory behind `dir_fd`, and make it if it is missing. On a disk
    that became read-only it is opened to read: a write then fails (EBADF). Errors: NotOurs,
    OSError."""
    try:
        return open_regular(dir_fd, name, flags | os.O_CREAT)
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        return open_regular(dir_fd, name)


def _opened(dir_fd: int, name: str, flags: int) -> tuple[int, int]:
    """Return the fd of a regular file, and its size."""
    try:
        fd = os.open(name, flags | _SAFE, 0o600, dir_fd=dir_fd)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotOurs(f"{name} is a symbolic link") from error
        if error.errno in (errno.ENXIO, errno.EISDIR):  # a FIFO without a reader or a socket; a directory
            raise NotOurs(f"{name} is not a regular file") from error
        raise
    status = os.fstat(fd)
    if stat.S_ISREG(status.st_mode):
        return fd, status.st_size
    os.close(fd)
    raise NotOurs(f"{name} is not a regular file")


def read(dir_fd: int, name: str, most: int = limits.RECORD_BYTES) -> bytes:
    """Return the content of a file. Errors: NotOurs, also for more than `most` bytes; OSError."""
    fd, size = _opened(dir_fd, name, os.O_RDONLY)
    with Closing(fd):
        if size > most:
            raise NotOurs(f"{name} has {size:,} bytes, and none of ours more than {most:,}")
        data = os.read(fd, size + 1)
        # Else it is being written, or its file system gives less than it has
        return data if len(data) == size else _rest(fd, data, most)


def _rest(fd: int, data: bytes, most: int) -> bytes:
    while len(data) < most and (piece := os.read(fd, min(most - len(data), 1 << 20))):
        data += piece
    return data[:most]


def sync(dir_fd: int, names: tuple[str, ...] = (), more: Sequence[int] = ()) -> None:
    """fsync these files, those behind the fds of `more`, and the directory, so that they survive a
    crash of the machine. Missing and empty files are skipped."""
    opened = []
    for name in names:
        try:
            fd, size = _opened(dir_fd, name, os.O_RDONLY)
        except OSError:
            continue
        if size:
            opened.append(fd)
        else:
            os.close(fd)
    sync_files((*opened, *more))
    for fd in opened:
        os.close(fd)
    sync_files((dir_fd,))


def sync_files(opened: Sequence[int]) -> None:
    """fsync the files behind these fds, as far as the disk takes them."""
    if len(opened) > 1:
        # Starts to write the first page of each, and keeps it cached (posix_fadvise(2)). The fsync of the
        # one that was begun last then commits the journal for all: on ext4 two commits for a job, not four
        for fd in opened:
            try:
                os.posix_fadvise(fd, 0, 1, os.POSIX_FADV_DONTNEED)
            except OSError:  # fsync does it then
                break
    for fd in reversed(opened):
        with suppress(OSError):
            os.fsync(fd)


def dump(content: dict[str, object]) -> bytes:
    """Return one line of JSON with a CRC-32 of the other members in `checksum`: a power cut may
    leave zeros or half a file."""
    body = json.dumps(content, separators=(",", ":"), ensure_ascii=True)
    return f'{body[:-1]},"checksum":"{zlib.crc32(body.encode()):08x}"}}\n'.encode()


def load(data: bytes) -> dict[str, Any]:
    """Return what `dump` was given. Errors: Damaged."""
    try:
        content = parse_json(data)
    except ValueError as error:
        raise Damaged(_damage(data)) from error
    if not isinstance(content, dict):
        raise Damaged("it is not a JSON object")
    checksum = content.pop("checksum", None)
    if checksum is not None and not _fits(data, content, checksum):
        raise Damaged("its checksum does not fit")
    return content


def _fits(data: bytes, content: dict[str, object], checksum: object) -> bool:
    """Return whether `checksum` is the checksum of the other members.

    Bytes that `dump` wrote are checked as they are, because serializing them anew takes as long as
    parsing them. A file that another program has laid out in its own way is serialized first: the
    checksum is of our layout.
    """
    if data[-_SEAL_BYTES:-11] == _SEAL and data.endswith(b'"}\n'):
        raw = zlib.crc32(b"}", zlib.crc32(memoryview(data)[:-_SEAL_BYTES]))
        if checksum == f"{raw:08x}":
            return True
    body = json.dumps(content, separators=(",", ":"), ensure_ascii=True)
    return checksum == f"{zlib.crc32(body.encode()):08x}"


def _damage(data: bytes) -> str:
    if not data:
        return "it is empty"
    if not data.strip(b"\0"):
        return "it is filled with zeros"
    return "it is cut off or garbled"
