"""Which jobs are in a root, without reading its directory again where nothing has changed since.

The directory is the truth. Reading the names of 100,000 jobs takes four times as long as Python
takes to start, so they are cached in a file, `.names/ids`. The cache is valid for one state of the
directory: the same boot, inode, link count, size, and times of change to the nanosecond. The file
may be deleted at any time; if anything is wrong with it, the directory is read.

Equal times do not always mean equal names: times come from a clock that ticks every 1 to 10 ms, so
a change right after the directory was read may leave its times as they were (git calls such an
entry racily clean). So the names are cached only if the last change was long over *before* the
directory was read: each later change then has a later time. "Long" is measured by the clock of the
file system, which is read by touching the cache file: clocks of other machines and of this process
do not count. Where times are coarser than the margin, or come from a network, nothing is cached.

The cache file is written under another name and renamed. It has a directory of its own, because in
the root each rename would be a change of the root.
"""

from __future__ import annotations

import fcntl
import os
import stat
import struct
import zlib

from outlive.core.ids import ID_CHARS, only_ids
from outlive.system import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    State = tuple[int, int, int, int, int, int]

NAMES = ".names"
IDS, NEW = "ids", "new"
_WORTH_CACHING = 2_000  # names; fewer are read from the directory in less than a millisecond
_NEWEST = 512  # ids that stand sorted at the front: a list of the newest reads no more
_SETTLED_NS = 100_000_000  # ten times the slowest tick of the kernel's clock (10 ms at 100 Hz)
# Times without digits below this come from a file system that counts in seconds, or in 10 ms
_COARSE_NS = 10_000_000
# Directories of these have the times of this machine's clock, and no other machine changes them
_LOCAL = frozenset("ext2 ext3 ext4 xfs btrfs f2fs zfs bcachefs tmpfs overlay".split())
_MAGIC = b"outlive names 1\n"
# Magic, boot, (device, inode, links, size, mtime, ctime) of the root, number of ids, CRC-32 of the
# newest and of all, ...
_HEADER = struct.Struct("<16s36s4Q2qQ2I")
_SEAL = struct.Struct("<I")  # ... and of what stands before
_HEAD_BYTES = _HEADER.size + _SEAL.size
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
# A FIFO in the place of the file must not block
_FILE = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def names_in(root: int) -> list[str]:
    """Return the names of everything in the directory itself. Errors: OSError."""
    # Opened anew: the position of a listing belongs to the open directory, so two threads that read
    # the same one would each miss what the other one got
    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=root)
    try:
        return os.listdir(fd)
    finally:
        os.close(fd)


def all_ids(root: int) -> list[str]:
    """Return the ids of all jobs below the directory behind `root`, in no order. Errors: OSError.

    Writes no cache: most callers that need all ids are about to delete some.
    """
    data = _cached(root, newest=False)
    if data is None:
        return only_ids(names_in(root))
    text = data.decode()
    return [text[at : at + ID_CHARS] for at in range(0, len(text), ID_CHARS)]


def newest_ids(root: int) -> Iterator[str]:
    """Yield the ids of all jobs, newest first. A caller that stops after a few pays for neither
    reading, checking nor sorting the others. Errors: OSError."""
    data = _cached(root, newest=True)
    names = None if data is not None else _list_and_cache(root)
    first: list[str] = []
    if data is not None:
        first = [data[at : at + ID_CHARS].decode() for at in range(0, len(data), ID_CHARS)]
    elif names and len(names) > _NEWEST:
        first = _newest_of(names)
    yield from first
    names = all_ids(root) if names is None else names
    yield from sorted([name for name in names if name < first[-1]] if first else names, reverse=True)


def ids_with(root: int, part: str) -> list[str]:
    """Return the ids that begin or end with `part`, newest first. Errors: OSError."""
    data = _cached(root, newest=False)
    if data is None:
        found = [name for name in _list_and_cache(root) if name.startswith(part) or name.endswith(part)]
    else:
        found = list(_found(data, part.encode()))
    return sorted(found, reverse=True)


def _found(data: bytes, part: bytes) -> Iterator[str]:
    """Yield the ids in `data` that begin or end with `part`, without making 100,000 strings."""
    at = data.find(part)
    while at >= 0:
        start = at - at % ID_CHARS  # of the id in which the match begins
        last = start + ID_CHARS - len(part)
        if at in (start, last):
            yield data[start : start + ID_CHARS].decode()
        at = data.find(part, last if start < at < last else start + ID_CHARS)


def _newest_of(names: list[str]) -> list[str]:
    from heapq import nlargest

    return nlargest(_NEWEST, names)


# --- reading --------------------------------------------------------------------------------------


def _state(root: int) -> State:
    found = os.fstat(root)
    return found.st_dev, found.st_ino, found.st_nlink, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _cached(root: int, *, newest: bool) -> bytes | None:
    """Return the newest cached ids, or all; None if the cache is damaged or not of the root as it
    is now."""
    place = fd = -1
    try:
        place = os.open(NAMES, _DIRECTORY, dir_fd=root)
        fd = _open_file(place, IDS, os.O_RDONLY)
        return _read(fd, _state(root), newest=newest)
    except OSError:
        return None
    finally:
        _close(fd, place)


def _read(fd: int, state: State, *, newest: bool) -> bytes | None:
    head = os.pread(fd, _HEAD_BYTES + _NEWEST * ID_CHARS, 0)
    if len(head) < _HEAD_BYTES or _SEAL.pack(zlib.crc32(head[: _HEADER.size])) != head[_HEADER.size : _HEAD_BYTES]:
        return None
    magic, boot, *known, count, newest_crc, all_crc = _HEADER.unpack(head[: _HEADER.size])
    if magic != _MAGIC or tuple(known) != state or not boot.strip(b"\0") or boot != _boot():
        return None
    if newest:
        data, crc = head[_HEAD_BYTES:][: min(count, _NEWEST) * ID_CHARS], newest_crc
    else:
        at = _HEAD_BYTES + min(count, _NEWEST) * ID_CHARS
        data, crc = os.pread(fd, count * ID_CHARS, at), all_crc
    return data if zlib.crc32(data) == crc else None


def _boot() -> bytes:
    """Return the boot id in 36 bytes. A cache holds for one boot, because after a power cut the
    file may hold zeros, and the directory and its times may be what they were a while before."""
    return process.boot_id().encode()[:36].ljust(36, b"\0")


def _open_file(place: int, name: str, flags: int) -> int:
    """Open a file of `.names`. Errors: OSError, also if it is a link or no regular file."""
    fd = os.open(name, flags | _FILE, 0o600, dir_fd=place)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise FileNotFoundError(f"{NAMES}/{name} is no file")


def _close(*fds: int) -> None:
    """Close those that are open."""
    for fd in fds:
        if fd >= 0:
            os.close(fd)


# --- writing --------------------------------------------------------------------------------------


def _list_and_cache(root: int) -> list[str]:
    """Return the ids of all jobs from the directory itself, and cache them if there are many.
    Errors: OSError of reading the directory; a cache that cannot be written is no error."""
    names: list[str] | None = None
    place = fd = -1
    try:
        place = os.open(NAMES, _DIRECTORY, dir_fd=root)
        fd = _lock_new_file(place)
        os.utime(fd)
        now_ns, before = os.fstat(fd).st_ctime_ns, _state(root)
        names = only_ids(names_in(root))
        # A root that was changed meanwhile has another state: the cache would never be valid
        if len(names) >= _WORTH_CACHING and _state(root) == before and _may_be_cached(root, before, now_ns):
            _write_cache(place, fd, names, before)
    except OSError:  # no `.names` yet, another process writes it, read-only, full
        pass
    finally:
        _close(fd, place)
    return _list_uncached(root) if names is None else names


def _list_uncached(root: int) -> list[str]:
    """Return the ids of all jobs without caching them; make `.names` if that pays. Errors: OSError
    of reading the root."""
    names = only_ids(names_in(root))
    if len(names) >= _WORTH_CACHING:
        try:
            # This changes the root, so the next call writes the cache
            os.mkdir(NAMES, 0o700, dir_fd=root)
        except OSError:  # it exists, or cannot be made
            pass
    return names


def _may_be_cached(root: int, state: State, now_ns: int) -> bool:
    """Return whether each change from `now_ns` on gives the root other times. (False for a time in
    the future: it was written before the clock was set back.)"""
    *_, mtime_ns, ctime_ns = state
    if ctime_ns % _COARSE_NS == 0 or now_ns - max(mtime_ns, ctime_ns) < _SETTLED_NS:
        return False
    from outlive.system import mounts  # late: only a writer needs it

    return bool(process.boot_id()) and mounts.type_of(root) in _LOCAL


def _lock_new_file(place: int) -> int:
    """Open the file that will be renamed into place, and lock it. There is never more than one:
    what a killed writer left of it is written over. Errors: OSError, also if another process has
    the lock."""
    fd = _open_file(place, NEW, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        here, there = os.fstat(fd), os.stat(NEW, dir_fd=place, follow_symlinks=False)
        # Renamed by its writer before we had the lock
        if (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino):
            raise BlockingIOError(f"{NAMES}/{NEW} is in use")
    except OSError:
        os.close(fd)
        raise
    return fd


def _write_cache(place: int, fd: int, names: list[str], state: State) -> None:
    """Write the cache into the locked file and rename it. Errors: OSError; then the file is empty
    again."""
    newest, everything = "".join(_newest_of(names)).encode(), "".join(names).encode()
    head = _HEADER.pack(_MAGIC, _boot(), *state, len(names), zlib.crc32(newest), zlib.crc32(everything))
    try:
        os.ftruncate(fd, 0)
        view = memoryview(b"".join((head, _SEAL.pack(zlib.crc32(head)), newest, everything)))
        at = 0
        while at < len(view):
            at += os.pwrite(fd, view[at:], at)
        os.replace(NEW, IDS, src_dir_fd=place, dst_dir_fd=place)
    except OSError:
        os.ftruncate(fd, 0)
        raise
