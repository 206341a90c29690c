"""Which jobs are in a root, without reading its directory again where nothing has changed since.

The directory is the truth. Reading the names of 100,000 jobs takes four times as long as Python takes to start, so they are
kept in a file, `.names/ids`, which holds for one state of the directory: the same boot, inode, link count, size, and times
of change to the nanosecond. It may be deleted at any time, and whatever is wrong with it, the directory is read.

When is it safe to say "same times, same names"? Times come from a clock that ticks every 1 to 10 ms, so a change right after
a look may leave them as they were (git calls such an entry racily clean). So the names are kept only if the last change was long
over *before* the directory was read: each later one has a later time then. "Long" is by the clock of the file system, which
the file that is about to be written is touched for: clocks of other machines and of this process do not count. Where times are
coarser than the margin, or come from a network, nothing is kept.

The file is made aside and renamed: in a directory of its own, or each writing would be a change of the root.
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
_PAYS = 2_000  # names; fewer are read from the directory in less than a millisecond
_NEWEST = 512  # sorted and in front: a list of the newest reads no more
_SETTLED_NS = 100_000_000  # ten times the slowest tick of the kernel's clock (10 ms at 100 Hz)
_COARSE_NS = 10_000_000  # times without digits below this are of a file system that counts in seconds, or in 10 ms
# Their directories have the times of this machine's clock, and nobody changes them behind its back
_LOCAL = frozenset("ext2 ext3 ext4 xfs btrfs f2fs zfs bcachefs tmpfs overlay".split())
_MAGIC = b"outlive names 1\n"
# magic, boot, (device, inode, links, size, mtime, ctime) of the root, number of ids, CRC-32 of the newest and of all, ...
_HEADER = struct.Struct("<16s36s4Q2qQ2I")
_SEAL = struct.Struct("<I")  # ... and of what stands before
_HEAD_BYTES = _HEADER.size + _SEAL.size
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
_FILE = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # what somebody made a FIFO stops nobody


def all_ids(root: int) -> list[str]:
    """The ids of all jobs below the directory behind `root`, in no order. Keeps nothing: who asks for all of them is mostly
    about to delete some. Errors: OSError."""
    data = _kept(root, newest=False)
    if data is None:
        return only_ids(entries(root))
    text = data.decode()
    return [text[at : at + ID_CHARS] for at in range(0, len(text), ID_CHARS)]


def newest_ids(root: int) -> Iterator[str]:
    """The same, newest first, one by one: whoever needs the first few of many pays for neither reading, checking nor
    sorting the others."""
    data = _kept(root, newest=True)
    names = None if data is not None else _listed(root)
    first: list[str] = []
    if data is not None:
        first = [data[at : at + ID_CHARS].decode() for at in range(0, len(data), ID_CHARS)]
    elif names and len(names) > _NEWEST:
        first = _newest_of(names)
    yield from first
    names = all_ids(root) if names is None else names
    yield from sorted([name for name in names if name < first[-1]] if first else names, reverse=True)


def ids_with(root: int, part: str) -> list[str]:
    """The ids that begin or end with `part`, newest first."""
    data = _kept(root, newest=False)
    if data is None:
        found = [name for name in _listed(root) if name.startswith(part) or name.endswith(part)]
    else:
        found = list(_found(data, part.encode()))
    return sorted(found, reverse=True)


def _found(data: bytes, part: bytes) -> Iterator[str]:
    """Not by making 100,000 strings of it."""
    at = data.find(part)
    while at >= 0:
        start = at - at % ID_CHARS  # of the id that it was found in, or that it begins in
        last = start + ID_CHARS - len(part)
        if at in (start, last):
            yield data[start : start + ID_CHARS].decode()
        at = data.find(part, last if start < at < last else start + ID_CHARS)


def _newest_of(names: list[str]) -> list[str]:
    from heapq import nlargest

    return nlargest(_NEWEST, names)


# --- reading -------------------------------------------------------------------------------------------------------


def _state(root: int) -> State:
    found = os.fstat(root)
    return found.st_dev, found.st_ino, found.st_nlink, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _kept(root: int, *, newest: bool) -> bytes | None:
    """The newest ids, or all; None if what is kept does not hold for the root as it is now, or is damaged."""
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
    """After a power cut a file may hold zeros, and directory and times what they were a while ago: a boot keeps its own."""
    return process.boot_id().encode()[:36].ljust(36, b"\0")


def _open_file(place: int, name: str, flags: int) -> int:
    """Errors: OSError, also if it is a link or no file."""
    fd = os.open(name, flags | _FILE, 0o600, dir_fd=place)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise FileNotFoundError(f"{NAMES}/{name} is no file")


def _close(*fds: int) -> None:
    """Those that were opened."""
    for fd in fds:
        if fd >= 0:
            os.close(fd)


def entries(root: int) -> list[str]:
    """Everything in the directory itself. Errors: OSError."""
    # Opened anew: where a listing stands belongs to the open directory, and two threads that read one would each miss
    # what the other has
    fd = os.open(".", _DIRECTORY, dir_fd=root)
    try:
        return os.listdir(fd)
    finally:
        os.close(fd)


# --- writing -------------------------------------------------------------------------------------------------------


def _listed(root: int) -> list[str]:
    """The ids of all jobs from the directory itself, kept if there are many. Errors: OSError of reading it alone."""
    names: list[str] | None = None
    place = fd = -1
    try:
        place = os.open(NAMES, _DIRECTORY, dir_fd=root)
        fd = _pen(place)
        os.utime(fd)
        now_ns, before = os.fstat(fd).st_ctime_ns, _state(root)
        names = only_ids(entries(root))
        # What was changed meanwhile has another state than this: it would be written for nobody
        if len(names) >= _PAYS and _state(root) == before and _may_be_kept(root, before, now_ns):
            _keep(place, fd, names, before)
    except OSError:  # nowhere to keep it, somebody else is at it, read-only, full
        pass
    finally:
        _close(fd, place)
    return _listed_first(root) if names is None else names


def _listed_first(root: int) -> list[str]:
    """The same where nothing can be kept, or not yet. Errors: OSError of reading it."""
    names = only_ids(entries(root))
    if len(names) >= _PAYS:
        try:
            os.mkdir(NAMES, 0o700, dir_fd=root)  # a change of the root: whoever comes next writes
        except OSError:  # it is there, or cannot be
            pass
    return names


def _may_be_kept(root: int, state: State, now_ns: int) -> bool:
    """Will each change from `now_ns` on give the root other times? (One that is yet to come was written before the clock
    was put back.)"""
    *_, mtime_ns, ctime_ns = state
    if ctime_ns % _COARSE_NS == 0 or now_ns - max(mtime_ns, ctime_ns) < _SETTLED_NS:
        return False
    from outlive.system import mounts  # for a writer alone

    return bool(process.boot_id()) and mounts.type_of(root) in _LOCAL


def _pen(place: int) -> int:
    """The file that will be renamed, locked: what a writer who was killed left of it is written over, so there is never
    more than one. Errors: OSError, also if somebody else has it."""
    fd = _open_file(place, NEW, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        here, there = os.fstat(fd), os.stat(NEW, dir_fd=place, follow_symlinks=False)
        if (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino):  # renamed by another one before we had the lock
            raise BlockingIOError(f"{NAMES}/{NEW} is in use")
    except OSError:
        os.close(fd)
        raise
    return fd


def _keep(place: int, fd: int, names: list[str], state: State) -> None:
    """Errors: OSError; then nothing of it takes room."""
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
