"""Notices that clients still have to get: `.owed/<box>/<ULID>` under the root.

A box belongs to one connection, or to all connections of a session that its client names. Its name
is `<client and directory>.<connection or session>`. The file `live` in it is locked as long as such
a connection is there: the kernel drops the lock with the process. A box without a lock is of a
connection that has ended; the next connection of that client in that directory takes what is left.

The file of a job is made when the job is started, and deleted once the connection has been told how
the job ended. It holds how many bytes of the job's history were told, whether the end was, whether
output is watched for (hits may be found after the end), and whether the call that started the job
has no answer yet. What an answer tells is written down when the answer has been sent, so that the
death of the server loses no notice.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from outlive import limits
from outlive.core.ids import is_id, new_id
from outlive.store import atomic_file
from outlive.system import locks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from outlive.store.root import Store

PENDING = ".owed"
_LIVE = "live"
_BYTE = 0  # of the file `live`, which is locked
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
_FILE = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
_TRIES = 100  # another process has the box for some system calls
_TRY_S = 0.002


def mark_of(client: str) -> str:
    """Return a client's name in a form that can be part of a file name."""
    import hashlib

    return hashlib.sha256(client.encode("utf-8", "surrogateescape")).hexdigest()[:16]


class Entry:
    """What a client was told of a job: `told` bytes of its history, and its `end` or not.

    `watched`: its output is. `unanswered`: the call that started it got no answer so far.
    """

    __slots__ = ("end", "told", "unanswered", "watched")

    def __init__(self, told: int = 0, *, end: bool = False, watched: bool = True, unanswered: bool = False) -> None:
        self.told = told
        self.end = end
        self.watched = watched
        self.unanswered = unanswered

    @classmethod
    def read(cls, data: bytes) -> Entry:
        """Return what `data` says, which older versions wrote with fewer words."""
        words = data.split()
        try:
            flags = [word == b"1" for word in words[1:]] + [False] * 3
            return cls(int(words[0]), end=flags[0], watched=words[2:3] != [b"0"], unanswered=flags[2])
        except (ValueError, IndexError):
            return cls()

    def written(self) -> bytes:
        return b"%020d %d %d %d\n" % (self.told, self.end, self.watched, self.unanswered)


class _Box:
    """One directory of entries. A lost entry costs no more than a notice, so nothing here makes a
    call fail."""

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self.name = name
        self.place = f"{PENDING}/{name}"
        self._live: int | None = None

    def hold(self, *, again: bool = False) -> None:
        """Make the directory, and show that it belongs to a live connection."""
        if again:
            self.let_go()
        for _ in range(_TRIES if self._live is None else 0):
            with suppress(OSError):
                self._live = self._held()
                if self._live is not None:
                    return
            time.sleep(_TRY_S)

    def _held(self) -> int | None:
        """Return the locked file; None if another process is changing the box just now."""
        try:
            fd = os.open(f"{self.place}/{_LIVE}", _FILE, dir_fd=self._store.fd)
        except FileNotFoundError:
            return self._made()
        if locks.share(fd, _BYTE) and os.fstat(fd).st_nlink:
            return fd
        os.close(fd)
        return None

    def _made(self) -> int | None:
        """Make the box under another name, so that it is never seen without its lock."""
        root = self._store.fd
        with suppress(FileExistsError):
            os.mkdir(PENDING, 0o700, dir_fd=root)
        new = f"{PENDING}/.{new_id()}"
        os.mkdir(new, 0o700, dir_fd=root)
        fd = os.open(f"{new}/{_LIVE}", _FILE | os.O_CREAT, 0o600, dir_fd=root)
        try:
            locks.share(fd, _BYTE)
            os.rename(new, self.place, src_dir_fd=root, dst_dir_fd=root)
        except OSError:  # another connection of the session was faster
            os.close(fd)
            os.unlink(f"{new}/{_LIVE}", dir_fd=root)
            os.rmdir(new, dir_fd=root)
            return None
        return fd

    def let_go(self) -> None:
        if self._live is not None:
            os.close(self._live)
            self._live = None

    def ids(self) -> list[str]:
        """Return the jobs with pending notices, oldest first."""
        try:
            fd = os.open(self.place, _DIRECTORY, dir_fd=self._store.fd)
        except OSError:
            return []
        try:
            return sorted(filter(is_id, os.listdir(fd)))
        finally:
            os.close(fd)

    def entry(self, job_id: str) -> Entry | None:
        """Return what was told of a job; None if it has no entry here."""
        try:
            fd = atomic_file.open_regular(self._store.fd, f"{self.place}/{job_id}")
        except OSError:
            return None
        try:
            return Entry.read(os.read(fd, 32))
        except OSError:
            return Entry()
        finally:
            os.close(fd)

    def write(self, job_id: str, entry: Entry, flags: int = 0) -> None:
        fd = os.open(f"{self.place}/{job_id}", _FILE | flags, 0o600, dir_fd=self._store.fd)
        try:
            os.pwrite(fd, entry.written(), 0)
        finally:
            os.close(fd)

    def move(self, job_id: str, to: _Box) -> bool:
        """Move an entry; return False if it is not here (any more)."""
        try:
            root = self._store.fd
            os.rename(f"{self.place}/{job_id}", f"{to.place}/{job_id}", src_dir_fd=root, dst_dir_fd=root)
        except OSError:
            return False
        return True

    def delete(self, job_id: str) -> None:
        with suppress(OSError):
            os.unlink(f"{self.place}/{job_id}", dir_fd=self._store.fd)


class Inbox:
    """The notices of one connection, or of a session that the client names.

    `client` is the client without its session, `directory` where it works. `connection` is an id
    that no other connection has. `key` tells this inbox from others of the client.
    """

    def __init__(
        self, store: Store, client: str, directory: str | None, session: str | None, connection: str, *, before: str
    ) -> None:
        """`before`: the client's name in the boxes of versions that had one for all its sessions."""
        self._store = store
        self._family = mark_of(f"{client}\0{directory or ''}")
        self._before = mark_of(before)
        self._home = _Box(store, f"{self._family}.{connection if session is None else mark_of(session)}")
        # Several servers may serve one session: an entry is moved out of their common box by the
        # one that tells it, until it has
        self._own = self._home if session is None else _Box(store, f"{self._family}.{connection}")
        self.key = mark_of(self._home.name)
        self.killed: set[str] = set()  # jobs that this connection has sent a signal
        self._unanswered: set[str] = set()  # jobs whose call has no answer yet
        self.left: set[str] = set()  # jobs whose call ended without one
        self._took = False

    @classmethod
    def of_session(cls, store: Store, session: str, connection: str) -> list[Inbox]:
        """Return an inbox for each box of this session, in whatever directory its jobs were started.

        They take nothing from connections that have ended: what a hook takes has no live owner.
        """
        found = []
        for name in _names(store):
            family, _, rest = name.partition(".")
            if rest == mark_of(session):
                inbox = cls(store, "", None, session, connection, before="")
                inbox._move_to(family, session, connection)
                found.append(inbox)
        return found

    def _move_to(self, family: str, session: str, connection: str) -> None:
        self._family = family
        self._home = _Box(self._store, f"{family}.{mark_of(session)}")
        self._own = _Box(self._store, f"{family}.{connection}")
        self.key = mark_of(self._home.name)
        self._took = True

    def add(self, job_id: str, *, watched: bool) -> None:
        """Add a job."""
        for again in (False, True):
            self._home.hold(again=again)
            with suppress(OSError):
                self._home.write(job_id, Entry(watched=watched, unanswered=True), os.O_CREAT)
                self._unanswered.add(job_id)
                return

    def is_unanswered(self, job_id: str) -> bool:
        return job_id in self._unanswered or job_id in self.left

    def leave(self, job_id: str) -> None:
        """Note that the call that started a job, of this inbox, ended without an answer."""
        self.left.add(job_id)
        self._mark(job_id, unanswered=True)

    def answered(self, job_id: str) -> None:
        """Note that the client knows of a job."""
        self._knows(job_id)
        self._mark(job_id, unanswered=False)

    def _mark(self, job_id: str, *, unanswered: bool) -> None:
        for box in dict.fromkeys((self._home, self._own)):
            entry = box.entry(job_id)
            if entry is not None and entry.unanswered != unanswered:
                entry.unanswered = unanswered
                with suppress(OSError):
                    box.write(job_id, entry)

    def _knows(self, job_id: str) -> None:
        self._unanswered.discard(job_id)
        self.left.discard(job_id)

    def ids(self) -> list[str]:
        """Return the jobs with pending notices, oldest first."""
        return self._home.ids()

    def entry(self, job_id: str) -> Entry | None:
        """Return what was told of a job; None if this inbox does not have it."""
        return self._home.entry(job_id)

    def claimed(self, job_id: str) -> Entry | None:
        """Return what was told of a claimed job."""
        return self._own.entry(job_id)

    def claim(self, job_id: str) -> bool:
        """Keep other connections of the session from telling of this job. Return False if one of
        them does so already."""
        if self._own is self._home:
            return True
        self._own.hold()
        return self._home.move(job_id, self._own)

    def release(self, job_id: str) -> None:
        """Take back a claim."""
        if self._own is not self._home:
            self._home.hold()
            self._own.move(job_id, self._home)

    def settle(self, job_id: str) -> None:
        """Delete a claimed entry: all was told."""
        self._knows(job_id)
        self.killed.discard(job_id)
        self._own.delete(job_id)

    def tell(self, job_id: str, entry: Entry) -> None:
        """Note in a claimed entry what was told, and take back the claim."""
        if not entry.unanswered:
            self._knows(job_id)
        with suppress(OSError):
            self._own.write(job_id, entry)
        self.release(job_id)

    def take_ended(self, may: Callable[[str], bool]) -> None:
        """Take the notices that ended connections of this client in this directory were not told,
        once. `may`: whether the caller may know of a job."""
        if self._took:
            return
        self._took = True
        for name in _names(self._store):
            if name.startswith((f"{self._family}.", self._before)):
                with suppress(OSError):
                    self._take(name, may)

    def _take(self, name: str, may: Callable[[str], bool]) -> None:
        """Take what is in the box of an ended connection; the box of this session may be one."""
        with _Ended(self._store, name) as ended:
            for job_id in ended.ids():
                if not may(job_id):
                    continue
                entry = ended.entry(job_id)
                if entry is not None and entry.unanswered:
                    self.left.add(job_id)
                if name != self._home.name:
                    self._home.hold()
                    ended.move(job_id, self._home)

    def close(self) -> None:
        for box in {self._home, self._own}:
            box.let_go()
            with suppress(OSError), _Ended(self._store, box.name):
                pass  # it is deleted if it is empty


class _Ended:
    """The box of an ended connection, for this process alone. An empty one is deleted at the end.

    Errors: OSError if the connection is there, or the box is not.
    """

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._box = _Box(store, name)
        self._fd: int | None = None

    def __enter__(self) -> _Box:
        with suppress(FileNotFoundError):  # boxes of older versions have no such file
            self._fd = os.open(f"{self._box.place}/{_LIVE}", _FILE, dir_fd=self._store.fd)
        if self._fd is not None and not locks.take(self._fd, _BYTE):
            os.close(self._fd)
            raise BlockingIOError(self._box.name)
        return self._box

    def __exit__(self, *_: object) -> None:
        try:
            if not self._box.ids():
                if self._fd is not None:
                    os.unlink(f"{self._box.place}/{_LIVE}", dir_fd=self._store.fd)
                os.rmdir(self._box.place, dir_fd=self._store.fd)
        finally:
            if self._fd is not None:
                os.close(self._fd)


def _names(store: Store) -> list[str]:
    try:
        fd = os.open(PENDING, _DIRECTORY, dir_fd=store.fd)
    except OSError:
        return []
    try:
        return sorted(os.listdir(fd))
    finally:
        os.close(fd)


def waiting_ids(store: Store) -> frozenset[str]:
    """Return the jobs that a client is still to be told of."""
    return frozenset(job_id for name in _names(store) for job_id in _Box(store, name).ids())


def forget_removed(store: Store) -> None:
    """Delete the entries of jobs that no longer exist: their clients never came back. Delete the
    boxes that are empty then, unless their connections live."""
    known = set(store.ids())
    for name in _names(store):
        box = _Box(store, name)
        for job_id in box.ids():
            with suppress(OSError):
                made = os.stat(f"{box.place}/{job_id}", dir_fd=store.fd, follow_symlinks=False).st_mtime
                # Else the job may be in the making
                if job_id not in known and time.time() - made > limits.TMP_AGE_S:
                    box.delete(job_id)
        with suppress(OSError), _Ended(store, name):
            pass
