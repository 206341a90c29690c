"""System calls that the module `os` lacks: what a process does to itself (prctl(2), close_range(2),
its title in the process table), what its children used (waitid(2)), and what happens to a file
(inotify(7)).

Only the C half of `ctypes` is loaded, as long as it has the functions that we know. The Python half
would add 2 ms to each job that a command line starts, and memory to guardian and supervisor.
"""

from __future__ import annotations

import os
import signal
import struct
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType

from outlive.core.record import Value
from outlive.system.fds import Closing, open_fds
from outlive.system.process import stat_fields

try:
    from _ctypes import call_cdeclfunction, dlopen, dlsym

    _has_calls = True
except ImportError:  # it is missing, or has changed
    import ctypes

    _has_calls = False

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_CLOSE_RANGE_CLOEXEC = 4
# The same number on every architecture (it came after the tables were unified)
_SYS_CLOSE_RANGE = 436
_PR_SET_CHILD_SUBREAPER = 36
_IN_ATTRIB, _IN_CLOSE_WRITE = 4, 8
# waitid(2) with its fifth argument
_WAITID_NUMBERS = {"x86_64": 247, "aarch64": 95, "riscv64": 95, "loongarch64": 95, "ppc64le": 272, "s390x": 281}
_SIGINFO, _RUSAGE = "=iiiiiii", "=qqqqq"  # where a long has 64 bits
_INFO_BYTES, _USED_BYTES = 128, 144
_LONG_BYTES = struct.calcsize("l")
_waitid: int | None = None  # of waitid(2); 0: not known here
# Where argv and environment lie; the same in whatever is forked from here
_areas: tuple[int, ...] | None = None


def _by_address() -> Callable[..., int]:
    """Return a function that calls libc's functions by their names."""
    library = dlopen(None, 0)  # type: ignore[arg-type]  # None: what is in this process
    addresses: dict[str, int] = {}

    def call(name: str, *values: int | bytes) -> int:
        """Call a function of libc. Errors: OSError if there is none of this name."""
        address = addresses.get(name)
        if address is None:
            address = addresses[name] = dlsym(library, name)
        return int(call_cdeclfunction(address, values))

    return call


def _by_ctypes() -> Callable[..., int]:
    library = ctypes.CDLL(None)

    def call(name: str, *values: int | bytes) -> int:
        try:
            return int(getattr(library, name)(*values))
        except AttributeError as error:
            raise OSError(str(error)) from error

    return call


_libc = _by_address() if _has_calls else _by_ctypes()


def become_subreaper() -> bool:
    """Make orphans below this process its children (prctl(2)); return False where that is not possible."""
    try:
        return _libc("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    except OSError:
        return False


def end_with_parent() -> None:
    """Have the kernel end this process when its parent ends (prctl(2)). A parent that has ended before is not noticed."""
    with suppress(OSError):  # then it ends when it next writes to its parent
        _libc("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def watch(path: str) -> int:
    """Return a new fd that becomes readable when a process changes the times of the file at `path`, or closes it after it was
    opened to write to it, by SIGKILL too. In that case the locks of that process are gone a moment later. Errors: OSError
    where the kernel watches no more files: a user has 128 such fds by default."""
    fd = _libc("inotify_init1", os.O_CLOEXEC | os.O_NONBLOCK)
    if fd >= 0 and _libc("inotify_add_watch", fd, os.fsencode(path), _IN_ATTRIB | _IN_CLOSE_WRITE) < 0:
        os.close(fd)
        fd = -1
    if fd < 0:
        raise OSError(0, "the kernel watches no more files")
    return fd


def rename(title: str) -> None:
    """Show `title` in the process table instead of the inherited argv, and wipe the inherited
    environment.

    Agents run `pkill python`. A forked CLI would also show its caller's argv, with any secret in
    it, for the life of the job, and its environment would carry the cookie of an outer job. The
    areas are those of proc_pid_stat(5), fields 48-51; both are ordinary writable memory of the
    process.
    """
    global _areas
    try:
        _libc("prctl", _PR_SET_NAME, title.split(maxsplit=1)[0].encode()[:15], 0, 0, 0)
        if _areas is None:
            fields = stat_fields(os.getpid())
            if not fields or len(fields) < 49:
                return
            _areas = tuple(int(fields[i]) for i in (45, 46, 47, 48))
    except (OSError, ValueError):
        return
    arg_start, arg_end, env_start, env_end = _areas
    if not 0 < arg_start < arg_end or not env_start <= env_end:
        return
    room = arg_end - arg_start
    _overwrite((arg_start, title.encode()[: room - 1].ljust(room, b"\0")), (env_start, bytes(env_end - env_start)))


def _overwrite(*pieces: tuple[int, bytes]) -> None:
    """Write bytes at addresses of our own memory (proc_pid_mem(5))."""
    try:
        with Closing(os.open("/proc/self/mem", os.O_RDWR | os.O_CLOEXEC)) as fd:
            for address, data in pieces:
                os.pwrite(fd, data, address)
    except OSError:  # some sandboxes do not let a process open it
        for address, data in pieces:
            whole_ctypes().memmove(address, data, len(data))


def whole_ctypes() -> ModuleType:
    """Return `ctypes` with its Python half. Errors: ImportError if the Python that this process was started with is gone."""
    import ctypes  # late: 3 ms of each start, and few sandboxes and kernels need it

    return ctypes


class Used(Value):
    """What a process and the children that it waited for have used."""

    user_us: int = 0
    system_us: int = 0
    peak_bytes: int = 0  # the most that one process of them had in memory at once


def ended_child(pid: int) -> tuple[int, Used | None] | None:
    """Return the wait(2) status of a child, which is not reaped, and what it used; None while it runs.
    What it used is None where this process cannot ask for it. Errors: ChildProcessError.

    `os.waitid` does not return what a child used, and `os.wait4` loads a module and reaps.
    """
    flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
    number = _waitid_number()
    if number:
        # Objects of their own, which the kernel writes into: equal constants would be one object
        info, used = bytes(bytearray(_INFO_BYTES)), bytes(bytearray(_USED_BYTES))
        if _libc("syscall", number, int(os.P_PID), pid, info, flags, used) == 0:
            told, _, code, _, _, _, status = struct.unpack_from(_SIGINFO, info)
            return (_wait_status(code, status), _used(used)) if told else None
    ended = os.waitid(os.P_PID, pid, flags)
    return None if ended is None else (_wait_status(ended.si_code, ended.si_status), None)


def own_peak_bytes(who: int = 0) -> int:
    """Return the most that this process had in memory at once; with -1 the most of a child that it
    has reaped.

    A child that has executed a program counts what it shared with this process before
    (exec_mmap() in fs/exec.c), so a peak up to this one says nothing about the child.
    """
    used = bytes(bytearray(_USED_BYTES))
    if _LONG_BYTES != 8 or _libc("getrusage", who, used):
        return 0
    return _used(used).peak_bytes


def _used(data: bytes) -> Used:
    user_s, user_us, system_s, system_us, peak_kb = struct.unpack_from(_RUSAGE, data)
    return Used(user_s * 1_000_000 + user_us, system_s * 1_000_000 + system_us, peak_kb * 1024)


def _wait_status(code: int, status: int) -> int:
    """Return the wait(2) status that corresponds to a siginfo of waitid(2)."""
    if code == os.CLD_EXITED:
        return status << 8
    return status | (0x80 if code == os.CLD_DUMPED else 0)


def _waitid_number() -> int:
    global _waitid
    if _waitid is None:
        _waitid = _WAITID_NUMBERS.get(os.uname().machine, 0) if _LONG_BYTES == 8 else 0
    return _waitid


def cloexec_from(first: int) -> bool:
    """Mark every fd from `first` on close-on-exec; return whether close_range(2) did it at once (before
    Linux 5.11 it cannot)."""
    with suppress(OSError):  # a libc without syscall()
        if _libc("syscall", _SYS_CLOSE_RANGE, first, -1, _CLOSE_RANGE_CLOEXEC) == 0:
            return True
    for fd in open_fds():
        if fd >= first:
            try:
                os.set_inheritable(fd, False)
            except OSError:  # the fd of the listing itself, closed by now
                continue
    return False
