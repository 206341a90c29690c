"""One job's directory: its files and its locks."""

from __future__ import annotations

import errno
import os
import socket
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeVar

from outlive import limits
from outlive.core.record import Record
from outlive.core.records import Definition, State
from outlive.core.units import timestamp
from outlive.errors import OutliveError, from_os
from outlive.store import atomic_file
from outlive.store.root import LEFT, LIVE, Store
from outlive.system import fault_points, fds, locks
from outlive.system.fds import DIRECTORY, Closing

_R = TypeVar("_R", bound=Record)


META, STATE, LOCK, META_LOCK = "meta.json", "state.json", "lock", "meta.lock"
ORDER, EVENTS = "order", "events.ndjson"
GAP = "gap"  # which part of the output is gone; made when there is more of it than the quota
LOGS = ("stdout.log", "stderr.log")
RESERVE = ".reserve"  # space for the outcome on a disk that is full by then
COMPLETION, NOTIFICATIONS = "completion_event.json", "notification_events.ndjson"
STDIN_DATA = "stdin.data"
USAGE = "usage.ndjson"  # samples of what the job used (supervisor/ending/members.py)
SCRIPT = "script"
STAGES = "stages"  # the exit codes of a pipeline, as bash wrote them (jobs/programs.py)
MASKS = (".mask0", ".mask1")  # where values of masked variables stand in the logs (store/output/masks.py)
IO, CONTROL, FIFOS = ".io", ".io/control", (".io/stdout", ".io/stderr")
# How far each log was searched for the patterns of watches
WATCHED = ".watched"
FAULT = "fault-"  # <process>.txt: the traceback of a process of ours (store/fault_report.py)
SEEN = ".seen"  # a directory: <hash of a client> holds where that client's last answer ended
SUPERVISOR_BYTE, GUARDIAN_BYTE = 0, 1
BYTES = 2  # of both together
UNWRITTEN_BYTE = 3  # shared by a supervisor that has an outcome in memory and cannot write it
# Most outcomes take 1 KiB; a terminal of many sizes has 4
_RESERVE_BYTES = 8_192
_MARK_BYTES = 2_048  # most first states take 800 bytes
_REMEMBERED_BYTES = 16_384  # of a definition: few are longer, and 64 of those are a megabyte

# Phase → the fault point before that state is visible
_UNRENAMED = {"spawning": "start_unmarked", "running": "start_unrecorded", "finished": "end_unwritten"}
_LOCK_S, _LOCK_AGAIN_S = 1.0, 0.002  # a change of a definition takes less than a millisecond
# No space, no inode, no quota left
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
NEW = os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


class JobDir:
    """An open job directory. Close it, or use it as a context manager."""

    def __init__(self, store_path: str, job_id: str, fd: int) -> None:
        self.job_id = job_id
        self.path = os.path.join(store_path, job_id)
        self.fd = fd
        self.live_name = f"../{LIVE}/{job_id}"
        self.secrets_of: Callable[[str], Any] | None = None  # as of the Store
        self._log_bytes = [0, 0]  # least lengths of the logs, from the last state that was read
        self.log_cuts = [0, 0, 0, 0]  # as in that state
        self._has_outcome = False  # whether state.json was seen with a final state

    @classmethod
    def open(cls, store: Store, job_id: str) -> JobDir:
        """Open the directory of a job. Errors: job_not_found (also for a link in its place),
        io_error."""
        try:
            fd = os.open(job_id, DIRECTORY, dir_fd=store.fd)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise OutliveError("job_not_found", f"no job {job_id!r}: it was removed") from error
        except OSError as error:
            raise from_os(f"opening the directory of job {job_id}", error, on="store") from error
        job = cls(store.path, job_id, fd)
        job.secrets_of = store.secrets_of
        return job

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> JobDir:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def log_path(self, stream: int) -> str:
        return os.path.join(self.path, LOGS[stream])

    def open_file(self, name: str, flags: int = os.O_RDONLY) -> int:
        """Open a regular file of the job. Everything that reads or writes one goes through here, or
        through atomic_file. Errors: atomic_file.NotOurs, OSError."""
        return atomic_file.open_regular(self.fd, name, flags)

    def open_fifo(self, name: str, flags: int) -> int:
        """Open an end of a FIFO of the job without waiting for the other end. Errors:
        atomic_file.NotOurs, OSError."""
        flags |= os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            fd = os.open(name, flags, dir_fd=self.fd)
        except PermissionError:  # its command, which has it open, took that right away
            os.chmod(name, 0o600, dir_fd=self.fd)
            fd = os.open(name, flags, dir_fd=self.fd)
        if stat.S_ISFIFO(os.fstat(fd).st_mode):
            return fd
        os.close(fd)
        raise atomic_file.NotOurs(f"{name} is not a FIFO")

    def open_io(self) -> int:
        """Open the directory of the FIFOs and the control socket. Errors: OSError."""
        return os.open(IO, DIRECTORY, dir_fd=self.fd)

    def connect(self, *, wait: bool = True) -> socket.socket:
        """Return a connection to the control socket of the job. Errors: as `fds.connected`."""
        with Closing(self.open_io()) as io:
            return fds.connected(io, os.path.basename(CONTROL), wait=wait)

    def _content(self, name: str) -> bytes:
        """Return the content of the file of a record. Errors: atomic_file.Damaged, FileNotFoundError, OSError."""
        try:
            return atomic_file.read(self.fd, name)
        except atomic_file.NotOurs as error:
            raise atomic_file.Damaged(str(error).replace(name, "it", 1)) from error

    # --- definition and state ---

    def read_meta(self) -> Definition:
        """Return the job's definition. Errors: atomic_file.Damaged, OSError, OutliveError for a
        newer format."""
        data = self._content(META)
        read = _definition if len(data) <= _REMEMBERED_BYTES else _definition.__wrapped__
        return read(data, self.path)

    def write_meta(self, definition: Definition) -> None:
        atomic_file.write_atomic(self.fd, META, atomic_file.dump(definition.to_dict()))

    def read_stdin_data(self) -> bytes | None:
        """Return the input that the job was defined with, None if it has none. Errors: atomic_file.NotOurs, OSError."""
        try:
            return atomic_file.read(self.fd, STDIN_DATA, limits.MAX_STDIN_WRITE_BYTES)
        except FileNotFoundError:
            return None

    def read_script(self, definition: Definition) -> bytes | None:
        """Return the script of the job, None if it has none. Errors: atomic_file.NotOurs, OSError."""
        return atomic_file.read(self.fd, SCRIPT, limits.MAX_SCRIPT_BYTES) if definition.script else None

    def change_meta(self, change: Callable[[Definition], Definition]) -> Definition:
        """Replace the definition by `change(definition)` and return it. One writer at a time."""
        self.read_meta()  # first: fail before anything of a newer format is touched
        with Closing(self.open_file(META_LOCK, os.O_RDWR | os.O_CREAT)) as lock:
            locks.flock(lock, time.monotonic() + _LOCK_S, lambda: time.sleep(_LOCK_AGAIN_S))
            changed: Definition = change(self.read_meta())
            self.write_meta(changed)
            atomic_file.sync(self.fd)
        return changed

    def has(self, name: str) -> bool:
        """Return whether there is anything of this name in the directory, as far as can be seen."""
        try:
            os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        except OSError:
            return False
        return True

    def read_state(self) -> State | None:
        """Return the job's state, or None if none was ever written. Errors: atomic_file.Damaged,
        OutliveError for a newer format."""
        try:
            data = self._content(STATE)
        except FileNotFoundError:
            return self.marked_state()
        state = _checked(State, atomic_file.load(data), self.path)
        self._log_bytes = state.log_bytes or self._log_bytes
        self.log_cuts = state.log_cuts or self.log_cuts
        self._has_outcome = state.finished
        return state

    def write_state(self, state: State, *, promised: bool = False) -> State:
        """Replace the state and return it as written: every reader sees all of it when this
        returns. `promised`: the caller relies on its being durable, as
        when it removes the mark of live jobs next."""
        stamped: State = State.replace(state, updated_at=timestamp())
        data, point = atomic_file.dump(stamped.to_dict()), _UNRENAMED.get(state.phase, "")
        try:
            atomic_file.write_atomic(self.fd, STATE, data, point, promised=promised or self._is_promised(state))
        except OSError as error:
            if not state.finished or error.errno not in FULL:
                raise
            try:
                atomic_file.write_reserved(self.fd, RESERVE, STATE, data, point)
            except OSError:
                raise error from None
        self._has_outcome = state.finished
        return stamped

    def _is_promised(self, state: State) -> bool:
        """Return whether after a power cut state.json must have either its content of now or `state`. While the job runs it
        may have less (supervisor/job_record.py)."""
        return self.has(STATE) and (self._has_outcome or state.state == "created" or not self.is_marked())

    def is_marked(self) -> bool:
        """Return whether the mark of live jobs has a state of this job."""
        try:
            return os.stat(self.live_name, dir_fd=self.fd, follow_symlinks=False).st_size > 0
        except OSError:
            return False

    def is_marked_live(self) -> bool:
        return self.has(self.live_name)

    def is_marked_left(self) -> bool:
        return self.has(self.live_name + LEFT)

    def mark_left(self) -> None:
        """Have the mark of a live job say that it ended, and that processes of it are left. Readers do
        not rely on it, so an error does not matter."""
        left = self.live_name + LEFT
        with suppress(OSError):
            if self.is_marked_live():
                os.rename(self.live_name, left, src_dir_fd=self.fd, dst_dir_fd=self.fd)
            else:  # another supervisor did it, or it ended long ago and was adopted
                os.close(self.open_file(left, os.O_WRONLY | os.O_CREAT))

    def unmark_live(self) -> None:
        for name in (self.live_name, self.live_name + LEFT):
            atomic_file.unlink(self.fd, name)

    def mark_spawning(self, state: State) -> None:
        """Write the first state: a command is about to be spawned. It stands in the mark of live jobs,
        which is there already, until the next state is written. Errors: OSError."""
        try:
            fd = self.open_file(self.live_name, os.O_WRONLY)
        except OSError:
            self.write_state(state)
            return
        data = atomic_file.dump(State.replace(state, updated_at=timestamp()).to_dict())
        fault_points.at("start_unmarked")
        with Closing(fd):
            fds.write_all(fd, data.ljust(_MARK_BYTES))  # a guardian writes it over that of its supervisor
        if self.has(STATE):  # `create` wrote one, which would count
            self.write_state(state, promised=True)

    def marked_state(self) -> State | None:
        """Return the state that the mark of live jobs has, None if it has none."""
        try:
            data = atomic_file.read(self.fd, self.live_name)
        except OSError:
            return None
        try:
            return _checked(State, atomic_file.load(data), self.path) if data else None
        except atomic_file.Damaged:  # a power cut: that it was written is what counts
            return State(job_id=self.job_id, phase="spawning")

    def reserve(self) -> None:
        """Take space on the disk for the outcome, if that was not done yet. Errors: OSError."""
        with suppress(FileExistsError), Closing(self.open_file(RESERVE, os.O_WRONLY | NEW)) as fd:
            os.posix_fallocate(fd, 0, _RESERVE_BYTES)

    def release_reserve(self) -> None:
        """Delete the space reserved for the outcome: the outcome is visible."""
        atomic_file.unlink(self.fd, RESERVE)

    def unrenamed_outcome(self) -> State | None:
        """Return the newest outcome that was written whole by a process that was killed before the
        rename, or None.

        Call this only when it is known that no process supervises the job any more.
        """
        states: list[State] = []
        for name in os.listdir(self.fd):
            if name != RESERVE and not name.startswith(f".{STATE}."):
                continue
            with suppress(OSError, OutliveError):  # written in part, or not at all
                # The zeros are reserved space that was not needed
                content = atomic_file.read(self.fd, name).rstrip(b"\0")
                if b'"checksum"' in content:
                    states.append(_checked(State, atomic_file.load(content), self.path))
        states = [state for state in states if state.finished and state.job_id == self.job_id]
        return max(states, key=lambda state: str(state.updated_at), default=None)

    # --- locks: the sign of life ---

    def open_lock(self) -> int:
        """Open the lock file. Each call makes a new open file description, with locks of its
        own."""
        return self.open_file(LOCK, os.O_RDWR)

    def is_supervised(self) -> bool:
        """Return whether a supervisor, a guardian or a launcher holds the job now."""
        with Closing(self.open_file(LOCK)) as fd:
            return locks.is_held(fd, SUPERVISOR_BYTE, BYTES)

    def has_unwritten_outcome(self) -> bool:
        """Return whether the supervisor has an outcome that it cannot write."""
        try:
            fd = self.open_file(LOCK)
        except OSError:  # deleted just now
            return False
        with Closing(fd):
            return locks.is_held(fd, UNWRITTEN_BYTE)

    # --- what a running job is reached by ---

    def make_io(self) -> None:
        """Create the FIFOs that are missing."""
        for make, name, mode in ((os.mkdir, IO, 0o700), *((os.mkfifo, name, 0o600) for name in FIFOS)):
            with suppress(FileExistsError):
                make(name, mode, dir_fd=self.fd)

    def make_logs(self) -> None:
        """Create the files of the output, unless the last of them is there. Errors: OSError."""
        for name in () if self.has(LOGS[-1]) else (ORDER, *LOGS):
            os.close(self.open_file(name, os.O_WRONLY | os.O_CREAT))

    def remove_io(self) -> None:
        """Delete the control socket and the FIFOs: the job is over."""
        for remove, name in (*((os.unlink, name) for name in (CONTROL, *FIFOS)), (os.rmdir, IO)):
            with suppress(OSError):
                remove(name, dir_fd=self.fd)

    def is_in_place(self) -> bool:
        """Return whether the path still names this directory: False after the job was removed."""
        try:
            here, there = os.fstat(self.fd), os.stat(self.path, follow_symlinks=False)
        except OSError as error:
            return error.errno != errno.ENOENT  # a broken disk removes nothing
        return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)

    def fault_names(self) -> list[str]:
        """Return the names of the tracebacks that processes of ours left."""
        return sorted(name for name in os.listdir(self.fd) if name.startswith(FAULT))

    # --- sizes ---

    def log_size(self, stream: int) -> int:
        """Return the length of a log in bytes, also if the file was cut or deleted after the job's
        end (and the state was read)."""
        return max(self.stored_size(stream), self._log_bytes[stream])

    def least_size(self, stream: int) -> int:
        """Return the length of a log in bytes when the job ended; 0 if it runs or the state was not
        read."""
        return self._log_bytes[stream]

    def stored_size(self, stream: int) -> int:
        """Return the length of the log's file in bytes; 0 if it is missing or no regular file."""
        status = self.log_stat(stream)
        return 0 if status is None else status.st_size

    def log_stat(self, stream: int) -> os.stat_result | None:
        """Return what stat(2) says of the log's file; None if it is missing or no regular file."""
        try:
            status = os.stat(LOGS[stream], dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return status if stat.S_ISREG(status.st_mode) else None


@lru_cache(maxsize=64)
def _definition(data: bytes, path: str) -> Definition:
    """Return the definition that a file holds. A server reads it four times for each start."""
    return _checked(Definition, atomic_file.load(data), path)


def _checked(kind: type[_R], content: dict[str, Any], path: str) -> _R:
    """Return the record that a file in the directory of this path holds. Errors: atomic_file.Damaged; io_error for a
    newer format."""
    _require_known_format(content, path)
    misfit = kind.misfit(content)
    if misfit is not None:
        raise atomic_file.Damaged(f"its {misfit} makes no sense")
    return kind.of(content)


def _require_known_format(content: dict[str, Any], path: str) -> None:
    """Errors: atomic_file.Damaged; io_error for a newer format. Older ones need no code here: `Record.of` fills in what they
    lack."""
    if not isinstance(content.get("format", 1), int):
        raise atomic_file.Damaged("its format is not a number")
    if content.get("format", 1) > limits.JOB_FORMAT:
        raise OutliveError(
            "io_error",
            f"{path} was written by a newer outlive (format {content['format']}, this one knows {limits.JOB_FORMAT})",
            hint="Update outlive to read this job.",
        )


class Locks:
    """Two open file descriptions, each holding one byte of a job's lock: the supervisor's, and its
    guardian's."""

    def __init__(self, job: JobDir, first: int = -1) -> None:
        """Take both. `first`: an fd of the lock file that is open already. Errors: BlockingIOError if
        another process holds one of them, OSError."""
        self.fds = [first] if first >= 0 else []
        self.are_given = False  # another process may hold copies
        try:
            for byte in (SUPERVISOR_BYTE, GUARDIAN_BYTE):
                if byte == len(self.fds):
                    self.fds.append(job.open_lock())
                if not locks.take(self.fds[-1], byte):
                    raise BlockingIOError(f"byte {byte} of {job.path}/{LOCK} is locked")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close this process's fds. Copies in other processes keep the locks held."""
        for fd in self.fds:
            os.close(fd)
        self.fds = []
