"""What the kernel offers, found out by trying it."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator

from outlive.core.ids import new_id
from outlive.parts.finding import CheckContext, Finding, fail, ok, warn
from outlive.store.root import TEMPORARY
from outlive.system import fds, hole_punch, locks, prctl, process
from outlive.system.fds import Closing

_YAMA = "/proc/sys/kernel/yama/ptrace_scope"
_CHILD_S = 2.0
_MOST_FILES = 2**31 - 1  # no process has that many
# What is weaker without each feature. outlive does not work without those in _NEEDED.
_WITHOUT = {
    "pidfd": "a pid that is used again might be signalled",
    "exit_info": "the exit code of a job is lost if its supervisor and its guardian are both killed (Linux 6.15 has it)",
    "subreaper": "descendants that leave the session of a job are found by their environment only",
    "ofd_locks": "whether a job has a supervisor cannot be known",
    "fifo": "no job can be started",
    "splice": "a supervisor that is killed while it moves output may lose some",
    "punch_hole": "of output beyond the quota only the head is kept",
    "memfd": "a job's request lies in a temporary file for an instant",
    "close_range": "starting a command takes longer where many files are open",
    "proc": "no process can be seen, and no job is started",
    "other_users": "who holds a port or a lock is not named if another user's process does (hidepid of /proc); jobs run as ever",
}
_NEEDED = frozenset({"ofd_locks", "fifo", "proc"})


def features(context: CheckContext) -> Finding:
    known = {**_of_processes(), **_of_files(context.directory)}
    if known["proc"]:
        known["other_users"] = process.stat_fields(1) is not None  # not with hidepid (proc(5))
    missing = [name for name, there in known.items() if not there]
    told = f"has {', '.join(name for name, there in known.items() if there)}"
    if not missing:
        return ok(told, **known)
    told += f"; has not: {', '.join(missing)}"
    advice = " ".join(f"Without {name}: {_WITHOUT[name]}." for name in missing)
    return fail(told, advice, **known) if _NEEDED.intersection(missing) else warn(told, advice, **known)


def _of_processes() -> dict[str, bool]:
    with _child(lambda: int(not prctl.become_subreaper())) as (pid, pidfd):
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        told = pidfd is not None and process.exit_status(pidfd) is not None
    return {
        "proc": process.has_proc(),
        "pidfd": pidfd is not None,
        "exit_info": told,
        "subreaper": code == 0,
        "memfd": hasattr(os, "memfd_create"),
        "close_range": prctl.cloexec_from(_MOST_FILES),
    }


def _of_files(root: str | None) -> dict[str, bool]:
    """Try the file system of the root; nothing is returned without a root."""
    if root is None or not os.path.isdir(root) or not os.access(root, os.W_OK | os.X_OK):
        return {}
    # The name of a half-made job: should we be killed here, the next gc deletes it
    place = os.path.join(root, f"{TEMPORARY}{new_id()}")
    os.mkdir(place, 0o700)
    try:
        return {name: _works(attempt, os.path.join(place, "file")) for name, attempt in _TRIES.items()}
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _works(attempt: Callable[[str], None], path: str) -> bool:
    try:
        attempt(path)
    except OSError:
        return False
    return True


def _opened(path: str, flags: int) -> Closing:
    return Closing(os.open(path, flags | os.O_CLOEXEC, 0o600))


def _lock(path: str) -> None:
    with _opened(path, os.O_RDWR | os.O_CREAT) as one, _opened(path, os.O_RDWR) as other:
        if not locks.take(one, 0) or not locks.is_held(other, 0) or locks.is_held(other, 1):
            raise OSError("a lock that one holds is not seen by the other")


def _fifo(path: str) -> None:
    os.mkfifo(path + ".fifo", 0o600)
    with _opened(path + ".fifo", os.O_RDONLY | os.O_NONBLOCK), _opened(path + ".fifo", os.O_WRONLY):
        return


def _splice(path: str) -> None:
    read_end, write_end = os.pipe()
    with Closing(read_end), Closing(write_end), _opened(path, os.O_WRONLY | os.O_CREAT) as file:
        os.write(write_end, b"x")
        os.splice(read_end, file, 1, offset_dst=0)


def _punch(path: str) -> None:
    with _opened(path, os.O_RDWR | os.O_CREAT) as file:
        os.pwrite(file, b"x" * 131_072, 0)
        hole_punch.punch(file, 0, 65_536)


_TRIES: dict[str, Callable[[str], None]] = {
    "ofd_locks": _lock,
    "fifo": _fifo,
    "splice": _splice,
    "punch_hole": _punch,
}


@contextlib.contextmanager
def _child(body: Callable[[], int]) -> Iterator[tuple[int, int | None]]:
    """Fork a child that ends with the result of `body`; yield its pid and pidfd.

    The caller waits for it.
    """
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            code = body()
        finally:
            os._exit(code)
    pidfd = process.open_pidfd(pid)
    try:
        yield pid, pidfd
    finally:
        if pidfd is not None:
            os.close(pidfd)


def blocked(context: CheckContext) -> Finding:
    """Check that /proc/PID/syscall of our children can be read: it shows waiting for input."""
    read_end, write_end = os.pipe()

    def sleep() -> int:
        os.close(write_end)
        os.read(read_end, 1)
        return 0

    with _child(sleep) as (pid, _):
        os.close(read_end)
        try:
            readable = _is_readable(pid)
        finally:
            os.close(write_end)
            os.waitpid(pid, 0)
    scope = _yama()
    told = f"{'can' if readable else 'cannot'} be read{'' if scope is None else f' (Yama ptrace_scope {scope})'}"
    facts = {"readable": readable, "ptrace_scope": scope}
    if readable:
        return ok(f"/proc/PID/syscall of what we start {told}", **facts)
    advice = "Whether a job waits for input is then guessed from an unfinished last line. "
    advice += f"A ptrace_scope of at most 1 allows it: {_YAMA}." if scope is not None and scope > 1 else ""
    return warn(f"/proc/PID/syscall of what we start {told}", advice.strip(), **facts)


def _is_readable(pid: int) -> bool:
    deadline = time.monotonic() + _CHILD_S
    while time.monotonic() < deadline:
        words = fds.content(f"/proc/{pid}/syscall").split()
        if words[:1] != [b"running"]:
            return bool(words)
        time.sleep(0.005)
    return False


def _yama() -> int | None:
    told = fds.content(_YAMA).strip()
    return int(told) if told.isdigit() else None
