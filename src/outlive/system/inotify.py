"""Wait for one file to appear or to change, without polling: inotify(7).

inotify does not see changes that another machine makes on a network file system, pseudo file
systems such as /proc, memory that is mapped and written (mmap(2)), or a file system that is mounted
over a directory of the path. A caller therefore checks at intervals as well.

A module of its own, because ctypes costs every command line a millisecond.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import threading

# inotify_init1(2), inotify_add_watch(2), <sys/inotify.h>
_MODIFY = 0x2
_ATTRIB = 0x4
_CLOSE_WRITE = 0x8
_MOVED_FROM = 0x40
_MOVED_TO = 0x80
_CREATE = 0x100
_DELETE = 0x200
_DELETE_SELF = 0x400
_MOVE_SELF = 0x800
_ONLYDIR = 0x1000000

_CONTENT = _MODIFY | _CLOSE_WRITE | _ATTRIB
_SELF = _DELETE_SELF | _MOVE_SELF
_NAMES = _CREATE | _MOVED_TO | _DELETE | _MOVED_FROM | _SELF

_EVENT = struct.Struct("iIII")  # wd, mask, cookie, length of the name that follows
_BUFFER = 1 << 16
_MOST_READS = 16  # in one drain: events that are left keep the fd readable
_MOST_LINKS = 40  # as the kernel follows (path_resolution(7))
_MOST_LOOKS = 8

_UNABLE = (errno.EACCES, errno.EPERM)
_VANISHED = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class _Way:
    """The path to a file as it is now, step by step: which files and directories to watch, for
    which events."""

    __slots__ = ("masks", "seen", "names", "file", "last")

    def __init__(self) -> None:
        self.masks: dict[str, int] = {}  # path without links → what to watch there
        # (path, st_dev, st_ino) of every step: the identity of this way
        self.seen: list[tuple[str, int, int]] = []
        self.names: set[bytes] = set()  # the names that lead to the file
        self.file: str | None = None  # the file itself, if it is there and no directory
        self.last = "/"  # the deepest directory there is

    def add(self, path: str, mask: int) -> None:
        self.masks[path] = self.masks.get(path, 0) | mask


class Watch:
    """An fd that becomes readable when the file at `path` may have appeared, changed or gone.
    stat(2) tells what happened.

    The file's own content is watched on the file, its name in the deepest directory of its path
    that exists; as missing directories appear, `drain` moves down. It notices a directory above
    that was moved away or replaced, and a symbolic link anywhere in the path that has another
    target now. If `path` is a directory, only its coming and going is seen.

    Errors: OSError where this cannot be watched, so that the caller has to poll: ENOSYS without
    inotify, EMFILE and ENOSPC at the limits of the user (/proc/sys/fs/inotify), EACCES if a
    directory may not be read.
    """

    def __init__(self, path: str) -> None:
        if "\0" in path:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
        self._path = os.path.join(os.getcwd(), path)  # not normalised: "link/.." may lead elsewhere
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._watches: dict[int, str] = {}  # watch descriptor → path
        self._way = _Way()
        try:
            self._fd: int = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        except AttributeError:  # a libc without it
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from None
        if self._fd < 0:
            raise _last_error(None)
        try:
            self._arm()
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        return self._fd

    def drain(self) -> bool:
        """Take all events, without waiting, and adapt the watched directories.

        Return False if all events were about neighbours of the file. Errors: OSError as for a new
        watch; close it then.
        """
        ours = moved = False
        for wd, mask, name in self._events():
            mine = name in self._way.names if name else True
            ours |= mine
            # A change of content alone, of the file itself or of what has its name, leaves the path
            # as it is
            itself = not name and self._watches.get(wd) == self._way.file
            moved |= mine and (not itself or bool(mask & ~_CONTENT))
        if moved:
            self._arm()
        return ours

    def close(self) -> None:
        """Close the fd, in a thread: close(2) of an inotify fd waits for what the kernel does with other
        watches at the moment (synchronize_srcu), 20 ms in which a server answers no call. May be
        called twice.
        """
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        try:
            threading.Thread(target=os.close, args=(fd,), daemon=True).start()
        except RuntimeError:  # the user has too many processes
            os.close(fd)

    def _events(self) -> list[tuple[int, int, bytes]]:
        """Return (watch descriptor, mask, name) of each event; the name is empty for what is
        watched itself."""
        events: list[tuple[int, int, bytes]] = []
        for _ in range(_MOST_READS):
            try:
                data = os.read(self._fd, _BUFFER)
            except BlockingIOError:
                break
            at = 0
            while at < len(data):
                wd, mask, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size + length
                events.append((wd, mask, data[at - length : at].rstrip(b"\0")))
        return events

    def _arm(self) -> None:
        """Watch the path, then walk it again: what changes after that second walk is an event."""
        self._way = _way_to(self._path)
        # A path that changes faster than this has caused another event
        for _ in range(_MOST_LOOKS):
            whole = True
            try:
                self._watch(self._way)
            except OSError as error:
                if error.errno not in _VANISHED:
                    raise
                whole = False
            before, self._way = self._way, _way_to(self._path)
            if whole and self._way.seen == before.seen:
                return

    def _watch(self, way: _Way) -> None:
        watches: dict[int, str] = {}
        if way.file is not None and not self._add(watches, way.file, _CONTENT | _SELF):
            # A file we may not read: its directory tells, along with its neighbours
            way.add(way.last, _CONTENT)
        for path, mask in way.masks.items():
            if not self._add(watches, path, mask | _ONLYDIR) and path == way.last:
                raise OSError(errno.EACCES, os.strerror(errno.EACCES), path)
        for wd in self._watches.keys() - watches.keys():
            # EINVAL: the kernel had removed it with its file
            self._libc.inotify_rm_watch(self._fd, wd)
        self._watches = watches

    def _add(self, watches: dict[int, str], path: str, mask: int) -> bool:
        """Watch a path; return False if it may not be read. A second watch of an inode replaces its
        mask and keeps its descriptor."""
        wd = self._libc.inotify_add_watch(self._fd, os.fsencode(path), ctypes.c_uint32(mask))
        if wd >= 0:
            watches[wd] = self._watches[wd] = path
            return True
        error = _last_error(path)
        if error.errno in _UNABLE:
            return False
        raise error


def _way_to(path: str) -> _Way:
    """Follow an absolute path step by step, as the kernel would, as far as it exists."""
    way = _Way()
    here = "/"
    directories = [here]
    links = 0
    todo = _steps(path)
    while todo:
        name = todo.pop()
        if name == "..":
            here = os.path.dirname(here)
            continue
        way.names.add(os.fsencode(name))
        place = os.path.join(here, name)
        try:
            info = os.lstat(place)
        except OSError:  # not there, or not for us to see: the directory tells when that changes
            way.seen.append((place, 0, 0))
            break
        way.seen.append((place, info.st_dev, info.st_ino))
        if stat.S_ISLNK(info.st_mode):
            links += 1
            target = _target(place) if links <= _MOST_LINKS else ""
            if not target:
                break
            way.add(here, _NAMES)
            here = "/" if target.startswith("/") else here
            todo += _steps(target)
        elif stat.S_ISDIR(info.st_mode):
            here = place
            directories.append(here)
        else:
            way.file = None if todo else place
            break
    _choose(way, here, directories)
    return way


def _choose(way: _Way, last: str, directories: list[str]) -> None:
    """Watch names in the deepest directory and in the one above it, because a directory that is
    some process's working directory reports nothing when it is deleted (IN_DELETE_SELF comes with
    the last reference). Of those above, only their own moves are watched: /tmp, for example, has
    many events."""
    for directory in directories:
        way.add(directory, _MOVE_SELF)
    way.add(os.path.dirname(last), _NAMES)
    way.add(last, _NAMES | _ATTRIB)
    way.last = last


def _steps(path: str) -> list[str]:
    """Return the names of a path, the first one last."""
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def _last_error(path: str | None) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), path)
