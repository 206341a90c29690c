"""What each session was told of its jobs: `.owed/<session>/<ULID>` under the root.

The client names its session; without a name a session is a connection. Its directory is its inbox. The file `live` in
it is locked as long as the session has a connection, and names the process of the client that started the server: by it
a hook finds the inbox of its window, whose session Claude Code renames at `/clear`. What an ended session was not told
goes to the next session of that client in that directory.

The file of a job is there from its start until the session was told of its end, and says how far in the job's history it
was told (`Told`). The process that tells of the job holds the lock of that file (`Claim`), so only one of several
servers and hooks does. The position moves when the answer was sent, so the death of a server loses no notice.
"""

from __future__ import annotations

import _thread
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress

from outlive import limits
from outlive.core.ids import is_id, sha256
from outlive.core.labels import SESSION_VARIABLE
from outlive.core.record import Value
from outlive.store import atomic_file
from outlive.store.root import Store
from outlive.system import locks
from outlive.system.fds import DIRECTORY, Closing, names_in
from outlive.system.tree import Client

PENDING = ".owed"
_SHELLS_CLIENT = "claude-code"
_SHELLS_DIRECTORY = "CLAUDE_PROJECT_DIR"
# The call that started a job: it was answered, is under way, or ended without an answer; FOLLOWED: it was answered with a
# task, for whose end the client looks. UNDER_WAY is not stored: the process of the call holds a lock until it is over
ANSWERED, UNDER_WAY, LEFT, FOLLOWED = range(4)
_LIVE = "live"
_BYTE = 0  # of a file, which is locked
_CALL = 1  # of an entry: locked by the process of the call that started the job
_ENTRY_BYTES = 32
_ENTRY = b"%d %d %020d\n"  # a `Told`
_CALL_BYTES = 2  # with the blank behind it
_TRIES = 100  # another process has the inbox for some system calls
_TRY_S = 0.002


def mark_of(client: str) -> str:
    """Return a client's name in a form that can be part of a file name."""
    return sha256(client.encode("utf-8", "surrogatepass"))[:16]


def family_of(client: str, directory: str | None) -> str:
    """Return what the names of the inboxes of one client in one directory begin with."""
    return mark_of(f"{client}\0{directory or ''}")


class Told(Value):
    """What a session was told of a job: its `end` or not, and `offset` bytes of its history. `call` is how the call that
    started the job stands."""

    call: int = ANSWERED
    end: bool = False
    offset: int = 0

    def to_bytes(self) -> bytes:
        return _ENTRY % (self.call, self.end, self.offset)

    @classmethod
    def read(cls, fd: int) -> Told:
        """Return what an entry says. One whose writer was killed says nothing. Errors: OSError."""
        try:
            call, end, offset = map(int, os.pread(fd, _ENTRY_BYTES, 0).split())
        except ValueError:
            return cls()
        is_under_way = call == LEFT and locks.is_held(fd, _CALL)
        return cls(UNDER_WAY if is_under_way else call, bool(end), offset)


class Claim:
    """The right to tell a session of a job. No other answer has it until `close`, or until the
    answer that has it is dropped."""

    def __init__(self, inbox: Inbox, job_id: str, fd: int) -> None:
        self.inbox = inbox
        self.job_id = job_id
        self._fd = fd
        self.told = Told.read(fd)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    __del__ = close

    def tell(self, told: Told | None) -> None:
        """Note what the session was told; None: all, and the entry is deleted. (How the call stands is left as it is: it
        may have changed meanwhile.)"""
        if told is None:
            self.inbox.forget(self.job_id)
            return
        with suppress(OSError):
            os.pwrite(self._fd, told.to_bytes()[_CALL_BYTES:], _CALL_BYTES)


class Inbox:
    """The inbox of a session. A lost entry costs no more than a notice, so nothing here makes a
    call fail."""

    def __init__(self, store: Store, name: str, *, takes: bool = False, host: Client | None = None) -> None:
        """`takes`: it may take what ended sessions of its family were not told. `host`: the client's process,
        if it serves no other client."""
        self._store = store
        self.name = name
        self.family, _, self.session = name.partition(".")
        self._place = f"{PENDING}/{name}"
        self._may_take = takes
        self._host = host
        self._live: int | None = None
        self._calls: dict[str, int] = {}  # the entries of jobs whose calls are under way here
        self._holding = _thread.allocate_lock()  # see fds.py
        self.killed: set[str] = set()  # jobs that this connection has sent a signal
        self.inspected: dict[str, float] = {}  # when it was last seen whether a silent job lives
        self.quiet: dict[str, int] = {}  # the length of the history of an answered job, where all of it was told
        self.pending: set[str] = set()  # the jobs of this session whose end it was not told, when that was last seen
        self.lost: set[str] = set()  # those of them whose root was deleted
        # Of jobs that answers show which are about to be sent: what the session knows then (jobs/told/known_to_session.py)
        self.records: dict[str, bytes] = {}
        # Of each `wait` under way, the jobs whose ends it will tell; threads change it
        self.waits: list[list[str]] = []

    @classmethod
    def of(cls, store: Store, client: str, directory: str | None, session: str, host: Client | None = None) -> Inbox:
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
        return [inbox for inbox in cls.every(store) if inbox.session == mark_of(session)]

    @classmethod
    def every(cls, store: Store) -> list[Inbox]:
        """Return the inboxes of all sessions. They take nothing of other sessions."""
        with suppress(OSError):
            return [cls(store, name) for name in sorted(names_in(store.fd, PENDING))]
        return []

    def host(self) -> Client | None:
        """Return the process of the client that started the session's server; None if that is not known."""
        with suppress(OSError, ValueError), Closing(self._open(_LIVE, os.O_RDONLY)) as fd:
            pid, start = map(int, os.pread(fd, _ENTRY_BYTES, 0).split())
            return pid, start
        return None

    def is_live(self) -> bool:
        """Return whether the session has a live connection in this directory."""
        with suppress(OSError), Closing(self._open(_LIVE, os.O_RDONLY)) as live:
            return locks.is_shared(live, _BYTE)
        return False

    # --- the directory ---

    def _open(self, name: str, flags: int = os.O_RDWR) -> int:
        """Open a file of the inbox. Errors: OSError."""
        return atomic_file.open_regular(self._store.fd, f"{self._place}/{name}", flags)

    def _hold(self) -> None:
        """Make the directory, and show that the session has a live connection. Calls in several threads
        may ask for it at once."""
        with self._holding:
            for _ in range(_TRIES if self._live is None else 0):
                try:
                    self._live = self._held()
                except (FileNotFoundError, BlockingIOError):
                    time.sleep(_TRY_S)
                    continue
                except OSError:  # a full disk, or a file system that takes no writes or no locks
                    pass
                return

    def _held(self) -> int:
        """Return the file whose lock shows the connection. Errors: OSError; FileNotFoundError or BlockingIOError if
        another process is just deleting the directory."""
        for path in (PENDING, self._place):
            with suppress(FileExistsError):
                os.mkdir(path, 0o700, dir_fd=self._store.fd)
        live = self._open(_LIVE, os.O_RDWR | os.O_CREAT)
        try:
            if not locks.share(live, _BYTE) or not os.fstat(live).st_nlink:
                raise BlockingIOError(self._place)
        except OSError:
            os.close(live)
            raise
        if self._host is not None:
            with suppress(OSError):  # a full disk: hooks then find this inbox by its name alone
                os.pwrite(live, b"%015d %015d\n" % self._host, 0)
        return live

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
        for job_id in list(self._calls):
            self._end_call(job_id)
        self._let_go()
        with suppress(OSError), self.ended():
            pass  # it is deleted if it is empty

    def arrive(self, may: Callable[[str], bool]) -> None:
        """Show that the session has a live connection, and take the notices that ended sessions of
        this client in this directory were not told, once. `may`: whether the caller may know of a
        job."""
        if not self._may_take:
            return
        self._take_all(Inbox(self._store, self.name), may)  # first: a live session's cannot be taken
        self._hold()
        self._may_take = self._live is None  # where no disk takes it, the next call tries again
        for other in Inbox.every(self._store):
            if other.name != self.name and other.family == self.family:
                self._take_all(other, may)

    def _take_all(self, other: Inbox, may: Callable[[str], bool]) -> None:
        with suppress(OSError), other.ended():
            for job_id in filter(may, other.ids()):
                self._take(other, job_id)

    def _take(self, other: Inbox, job_id: str) -> None:
        """Take one notice of an ended session; of this one, if its last connection has ended."""
        claim = other.claim(job_id)
        if claim is None:  # a hook tells it just now
            return
        with closing(claim):
            if claim.told.call == FOLLOWED:
                other.set_call(job_id, ANSWERED)
            if other.name != self.name:
                self._hold()
                root = self._store.fd
                os.rename(f"{other._place}/{job_id}", f"{self._place}/{job_id}", src_dir_fd=root, dst_dir_fd=root)

    # --- the entries ---

    def add(self, job_id: str) -> None:
        """Add the job that a call is about to start."""
        self.pending.add(job_id)
        self._make(job_id)
        self.begin_call(job_id)

    def add_lost(self, job_ids: set[str]) -> None:
        """Add jobs of a root that was in this place before, unless they are in this one."""
        for job_id in job_ids.difference(self._store.ids()) if job_ids else ():
            self.lost.add(job_id)
            self._make(job_id)

    def _make(self, job_id: str) -> None:
        for _ in range(2):  # the directory may have been deleted
            self._hold()
            with suppress(OSError), Closing(self._open(job_id, os.O_WRONLY | os.O_CREAT)) as fd:
                os.pwrite(fd, Told().to_bytes(), 0)
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

    def told(self, job_id: str) -> Told | None:
        """Return what was told of a job; None if it has no entry here."""
        with suppress(OSError), Closing(self._open(job_id, os.O_RDONLY)) as fd:
            return Told.read(fd)
        return None

    def begin_call(self, job_id: str) -> None:
        """Note that a call is under way that starts a job. It is left if this process dies before `set_call`."""
        self._end_call(job_id)
        with suppress(OSError):
            self._calls[job_id] = fd = self._open(job_id)
            locks.take(fd, _CALL)
            os.pwrite(fd, b"%d" % LEFT, 0)

    def is_under_way(self, job_id: str) -> bool:
        """Return whether a call of this connection that starts the job has no answer yet, without a look at the disk."""
        return job_id in self._calls

    def set_call(self, job_id: str, call: int) -> None:
        """Note how the call ended that started a job."""
        with suppress(OSError), Closing(self._open(job_id, os.O_WRONLY)) as fd:
            os.pwrite(fd, b"%d" % call, 0)
        self._end_call(job_id)

    def _end_call(self, job_id: str) -> None:
        fd = self._calls.pop(job_id, None)
        if fd is not None:
            os.close(fd)

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
        self.quiet.pop(job_id, None)
        self.pending.discard(job_id)
        self.lost.discard(job_id)
        self._end_call(job_id)
        with suppress(OSError):
            os.unlink(f"{self._place}/{job_id}", dir_fd=self._store.fd)


def has_connection(store: Store, name: str) -> bool:
    """Return whether the session of an inbox has a live connection, in whichever directory."""
    session = Inbox(store, name).session
    return any(inbox.is_live() for inbox in Inbox.every(store) if inbox.session == session)


def forget_removed(store: Store) -> None:
    """Delete the entries of jobs that no longer exist: their sessions never came back. Delete the
    inboxes that are empty then, unless their sessions are there."""
    known = set(store.ids())
    for inbox in Inbox.every(store):
        for job_id in inbox.ids():
            with suppress(OSError):
                written = os.stat(f"{PENDING}/{inbox.name}/{job_id}", dir_fd=store.fd, follow_symlinks=False).st_mtime
                # Else the job may be in the making
                if job_id not in known and time.time() - written > limits.TMP_AGE_S:
                    inbox.forget(job_id)
        with suppress(OSError), inbox.ended():
            pass
