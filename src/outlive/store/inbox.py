"""What each session was told of its jobs: `.owed/<session>/<ULID>` under the root.

The client names its session; without a name a session is a connection. Its directory is its inbox. The file `live` in
it is locked as long as the session has a connection, and names the process of the client that started the server: by it
a hook finds the inbox of its window, whose session Claude Code renames at `/clear`. What an ended session was not told
goes to the next session of that client in that directory.

The file of a job is there from its start until the session was told of its end, and says how far in the job's history it
was told (`Progress`). The process that tells of the job holds the lock of that file (`Claim`), so only one of several
servers and hooks does. The position moves when the answer was sent, so the death of a server loses no notice.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from outlive import limits
from outlive.core.ids import is_id, sha256
from outlive.core.labels import SESSION_VARIABLE
from outlive.store import atomic_file
from outlive.store.root import Store
from outlive.system import locks
from outlive.system.fds import DIRECTORY, Closing, names_in
from outlive.system.host_process import Host

PENDING = ".owed"
_SHELLS_CLIENT = "claude-code"
_SHELLS_DIRECTORY = "CLAUDE_PROJECT_DIR"
# The call that started a job: it was answered, is under way, or ended without an answer; FOLLOWED: it was answered with a
# task, for whose end the client looks
ANSWERED, UNDER_WAY, LEFT, FOLLOWED = range(4)
_LIVE = "live"
_BYTE = 0  # of a file, which is locked
_ENTRY_BYTES = 32
_TRIES = 100  # another process has the inbox for some system calls
_TRY_S = 0.002


def mark_of(client: str) -> str:
    """Return a client's name in a form that can be part of a file name."""
    return sha256(client.encode("utf-8", "surrogatepass"))[:16]


def family_of(client: str, directory: str | None) -> str:
    """Return what the names of the inboxes of one client in one directory begin with."""
    return mark_of(f"{client}\0{directory or ''}")


class Progress:
    """How far a session was told of a job: `offset` bytes of the job's history, and its `end` or
    not.

    `watched`: the job's output is, so hits may be found after its end. `call` is how the call that
    started it stands.
    """

    __slots__ = ("call", "end", "offset", "watched")

    def __init__(self, offset: int = 0, *, end: bool = False, watched: bool = True, call: int = ANSWERED) -> None:
        self.offset = offset
        self.end = end
        self.watched = watched
        self.call = call

    @classmethod
    def read(cls, data: bytes) -> Progress:
        """Return what `data` says. An entry whose writer was killed says nothing."""
        try:
            offset, end, watched, call = map(int, data.split())
        except ValueError:
            return cls()
        return cls(offset, end=bool(end), watched=bool(watched), call=call)

    def written(self) -> bytes:
        return b"%020d %d %d %d\n" % (self.offset, self.end, self.watched, self.call)


class Claim:
    """The right to tell a session of a job. No other answer has it until `close`, or until the
    answer that has it is dropped."""

    def __init__(self, inbox: Inbox, job_id: str, fd: int) -> None:
        self._inbox = inbox
        self.job_id = job_id
        self._fd = fd
        self.progress = _progress(fd)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    __del__ = close

    def tell(self, offset: int, *, end: bool, answered: bool = False) -> None:
        """Note what the session was told. `answered`: the call that started the job is told of
        too."""
        progress = _progress(self._fd)  # the call may have been answered meanwhile
        call = ANSWERED if answered else progress.call
        _write(self._fd, Progress(offset, end=end, watched=progress.watched, call=call))

    def settle(self) -> None:
        """Delete the entry: all was told."""
        self._inbox.forget(self.job_id)


class Inbox:
    """The inbox of a session. A lost entry costs no more than a notice, so nothing here makes a
    call fail."""

    def __init__(self, store: Store, name: str, *, takes: bool = False, host: Host | None = None) -> None:
        """`takes`: it may take what ended sessions of its family were not told. `host`: the client's process,
        if it serves no other client."""
        self._store = store
        self.name = name
        self._place = f"{PENDING}/{name}"
        self._may_take = takes
        self._host = host
        self._live: int | None = None
        self._holding = threading.Lock()
        self.killed: set[str] = set()  # jobs that this connection has sent a signal
        self.inspected: dict[str, float] = {}  # when it was last seen whether a silent job lives
        self.pending: set[str] = set()  # the jobs of this session whose end it was not told, when that was last seen
        self.lost: set[str] = set()  # those of them whose root was deleted
        # Of each `wait` under way, the jobs whose ends it will tell; threads change it
        self.waits: list[list[str]] = []

    @classmethod
    def of(cls, store: Store, client: str, directory: str | None, session: str, host: Host | None = None) -> Inbox:
        """Return the inbox of a session of this client in this directory. `session`: the name that
        the client gives it, or an id that no other connection has."""
        return cls(store, f"{family_of(client, directory)}.{mark_of(session)}", takes=True, host=host)

    @classmethod
    def of_shell(cls, store: Store, env: Mapping[str, str], cwd: str | None) -> Inbox | None:
        """Return the inbox of the agent session whose shell has these variables; None for the shell of
        a person."""
        session = env.get(SESSION_VARIABLE)
        return cls.of(store, _SHELLS_CLIENT, env.get(_SHELLS_DIRECTORY) or cwd, session) if session else None

    @classmethod
    def all_of(cls, store: Store, session: str) -> list[Inbox]:
        """Return the inboxes of a session, one for each directory in which its jobs were started.
        They take nothing of other sessions."""
        return [inbox for inbox in cls.every(store) if inbox.name.partition(".")[2] == mark_of(session)]

    @classmethod
    def every(cls, store: Store) -> list[Inbox]:
        """Return the inboxes of all sessions. They take nothing of other sessions."""
        return [cls(store, name) for name in _names(store)]

    def host(self) -> Host | None:
        """Return the process of the client that started the session's server; None if that is not known."""
        with suppress(OSError, ValueError), Closing(self._open(_LIVE, os.O_RDONLY)) as fd:
            pid, start = map(int, os.pread(fd, _ENTRY_BYTES, 0).split())
            return pid, start
        return None

    # --- the directory ---

    def _open(self, name: str, flags: int = os.O_RDWR) -> int:
        """Open a file of the inbox. Errors: OSError."""
        return atomic_file.open_regular(self._store.fd, f"{self._place}/{name}", flags)

    def _hold(self) -> None:
        """Make the directory, and show that the session has a live connection. Calls in several threads
        may ask for it at once."""
        with self._holding:
            for _ in range(_TRIES if self._live is None else 0):
                if self._was_tried():
                    return
                time.sleep(_TRY_S)

    def _was_tried(self) -> bool:
        """Return whether the session has its live connection now, or trying again is of no use."""
        try:
            for path in (PENDING, self._place):
                with suppress(FileExistsError):
                    os.mkdir(path, 0o700, dir_fd=self._store.fd)
            live = self._open(_LIVE, os.O_RDWR | os.O_CREAT)
        except FileNotFoundError:  # another process has just deleted the directory
            return False
        except OSError:  # a full disk, or a file system that takes no writes
            return True
        try:
            is_held = locks.share(live, _BYTE) and os.fstat(live).st_nlink > 0
        except OSError:  # as where no locks are
            is_held = False
        if not is_held:
            os.close(live)
            return False
        self._live = live
        if self._host is not None:
            with suppress(OSError):  # a full disk: hooks then find this inbox by its name alone
                os.pwrite(live, b"%015d %015d\n" % self._host, 0)
        return True

    def _let_go(self) -> None:
        with self._holding:
            if self._live is not None:
                os.close(self._live)
                self._live = None

    @contextmanager
    def ended(self) -> Iterator[None]:
        """Have the inbox of an ended session for this process alone. An empty one is deleted at the
        end. Errors: OSError if the session has a live connection, or the inbox is gone."""
        os.close(os.open(self._place, DIRECTORY, dir_fd=self._store.fd))
        live = self._open(_LIVE, os.O_RDWR | os.O_CREAT)  # missing if a process was killed while it deleted the inbox
        with Closing(live):
            if not locks.take(live, _BYTE) or not os.fstat(live).st_nlink:
                raise BlockingIOError(self._place)
            yield
            if not self.ids():
                os.unlink(f"{self._place}/{_LIVE}", dir_fd=self._store.fd)
                os.rmdir(self._place, dir_fd=self._store.fd)

    def close(self) -> None:
        self._let_go()
        with suppress(OSError), self.ended():
            pass  # it is deleted if it is empty

    def arrive(self, may: Callable[[str], bool]) -> None:
        """Show that the session has a live connection, and take the notices that ended sessions of
        this client in this directory were not told, once. `may`: whether the caller may know of a
        job."""
        if not self._may_take:
            return
        self._take_all(self.name, may)  # first: a live session's cannot be taken
        self._hold()
        self._may_take = self._live is None  # where no disk takes it, the next call tries again
        for name in _names(self._store):
            if name != self.name and name.partition(".")[0] == self.name.partition(".")[0]:
                self._take_all(name, may)

    def _take_all(self, name: str, may: Callable[[str], bool]) -> None:
        other = Inbox(self._store, name)
        with suppress(OSError), other.ended():
            for job_id in filter(may, other.ids()):
                self._take(other, job_id)

    def _take(self, other: Inbox, job_id: str) -> None:
        """Take one notice of an ended session; of this one, if its last connection has ended."""
        claim = other.claim(job_id)
        if claim is None:  # a hook tells it just now
            return
        try:
            ended = {UNDER_WAY: LEFT, FOLLOWED: ANSWERED}
            other.set_call(job_id, ended.get(claim.progress.call, claim.progress.call))
            if other.name != self.name:
                self._hold()
                root = self._store.fd
                os.rename(f"{other._place}/{job_id}", f"{self._place}/{job_id}", src_dir_fd=root, dst_dir_fd=root)
        finally:
            claim.close()

    # --- the entries ---

    def add(self, job_id: str, *, watched: bool) -> None:
        self.pending.add(job_id)
        self._write(job_id, Progress(watched=watched, call=UNDER_WAY))

    def add_lost(self, job_ids: set[str]) -> None:
        """Add jobs of a root that was in this place before, unless they are in this one."""
        for job_id in job_ids.difference(self._store.ids()) if job_ids else ():
            self.lost.add(job_id)
            self._write(job_id, Progress())

    def _write(self, job_id: str, progress: Progress) -> None:
        for _ in range(2):  # the directory may have been deleted
            self._hold()
            with suppress(OSError), Closing(self._open(job_id, os.O_WRONLY | os.O_CREAT)) as fd:
                _write(fd, progress)
                return
            self._let_go()

    def ids(self) -> list[str]:
        """Return the jobs with pending notices, oldest first."""
        try:
            ids = sorted(filter(is_id, names_in(self._store.fd, self._place)))
        except OSError:
            return []
        self.pending = set(ids)
        return ids

    def progress(self, job_id: str) -> Progress | None:
        """Return what was told of a job; None if it has no entry here."""
        with suppress(OSError), Closing(self._open(job_id, os.O_RDONLY)) as fd:
            return _progress(fd)
        return None

    def set_call(self, job_id: str, call: int) -> None:
        """Note how the call stands that started a job."""
        with suppress(OSError), Closing(self._open(job_id)) as fd:
            progress = _progress(fd)
            if progress.call != call:
                progress.call = call
                _write(fd, progress)

    def claim(self, job_id: str) -> Claim | None:
        """Return the right to tell of a job; None if another answer tells of it, or all was told."""
        try:
            fd = self._open(job_id)
        except OSError:
            return None
        if locks.take(fd, _BYTE) and os.fstat(fd).st_nlink:
            return Claim(self, job_id, fd)
        os.close(fd)
        return None

    def forget(self, job_id: str) -> None:
        self.killed.discard(job_id)
        self.inspected.pop(job_id, None)
        self.pending.discard(job_id)
        self.lost.discard(job_id)
        with suppress(OSError):
            os.unlink(f"{self._place}/{job_id}", dir_fd=self._store.fd)


def _progress(fd: int) -> Progress:
    return Progress.read(os.pread(fd, _ENTRY_BYTES, 0))


def _write(fd: int, progress: Progress) -> None:
    with suppress(OSError):
        os.pwrite(fd, progress.written(), 0)


def _names(store: Store) -> list[str]:
    try:
        return sorted(names_in(store.fd, PENDING))
    except OSError:
        return []


def has_connection(store: Store, name: str) -> bool:
    """Return whether the session of an inbox has a live connection, in whichever directory."""
    session = name.partition(".")[2]
    return any(_is_held(store, one) for one in _names(store) if one.partition(".")[2] == session)


def _is_held(store: Store, name: str) -> bool:
    try:
        live = atomic_file.open_regular(store.fd, f"{PENDING}/{name}/{_LIVE}", os.O_RDONLY)
    except OSError:
        return False
    with Closing(live):
        return locks.is_shared(live, _BYTE)


def forget_removed(store: Store) -> None:
    """Delete the entries of jobs that no longer exist: their sessions never came back. Delete the
    inboxes that are empty then, unless their sessions are there."""
    known = set(store.ids())
    for name in _names(store):
        inbox = Inbox(store, name)
        for job_id in inbox.ids():
            with suppress(OSError):
                written = os.stat(f"{PENDING}/{name}/{job_id}", dir_fd=store.fd, follow_symlinks=False).st_mtime
                # Else the job may be in the making
                if job_id not in known and time.time() - written > limits.TMP_AGE_S:
                    inbox.forget(job_id)
        with suppress(OSError), inbox.ended():
            pass
