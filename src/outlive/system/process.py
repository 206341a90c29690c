"""The identity of a process. A pid alone does not identify one, because the kernel uses it again:
identity is boot id, pid namespace, pid and start time.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.core.records import Identity

# pidfd.h, Linux 6.13 (EXIT: 6.15): _IOWR(0xFF, 11, struct pidfd_info), 64 bytes in its first
# version
_PIDFD_GET_INFO = (3 << 30) | (64 << 16) | (0xFF << 8) | 11
_PIDFD_INFO_EXIT = 1 << 3
_EXIT_CODE_AT = 60

# waitid(2) with its fifth argument, which `os` does not have
_WAITID_NUMBERS = {"x86_64": 247, "aarch64": 95, "riscv64": 95, "loongarch64": 95, "ppc64le": 272, "s390x": 281}
_SIGINFO, _RUSAGE = "=iiiiiii", "=qqqqq"  # where a long has 64 bits
_INFO_BYTES, _USED_BYTES = 128, 144
_LONG_BYTES = struct.calcsize("l")
_waitid: int | None = None  # of waitid(2); 0: not known here

_boot_id: str | None = None


def boot_id() -> str:
    """Return the kernel's id of this boot, "" where there is none. After a reboot no old pid means
    anything."""
    global _boot_id
    if _boot_id is None:
        try:
            # Bytes, not text: opening as text may import a codec, a millisecond on the way to a
            # start
            with open("/proc/sys/kernel/random/boot_id", "rb") as file:
                _boot_id = file.read().strip().decode()
        except OSError:
            _boot_id = ""
    return _boot_id


def pid_namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def is_first_namespace() -> bool:
    """Return whether our pids are those that the kernel itself uses (PROC_PID_INIT_INO,
    linux/proc_ns.h)."""
    return pid_namespace() == "pid:[4026531836]"


def stat_fields(pid: int) -> list[bytes] | None:
    """Return the fields of /proc/PID/stat from field 3 (state) on; None if the process is gone
    (proc_pid_stat(5))."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        data = os.read(fd, 4096)
    except OSError:  # ESRCH: it went while the file was open
        return None
    finally:
        os.close(fd)
    return data[data.rindex(b")") + 2 :].split()  # the name may hold spaces and parentheses


def start_time(pid: int) -> int | None:
    """Return the start of the process in clock ticks after boot; None if it is gone."""
    fields = stat_fields(pid)
    return int(fields[19]) if fields else None


def parent(pid: int) -> int | None:
    """Return the pid of the parent; None if the process is gone."""
    fields = stat_fields(pid)
    return int(fields[1]) if fields else None


def identity(pid: int) -> Identity:
    return {"boot_id": boot_id(), "pid_ns": pid_namespace(), "pid": pid, "start_time": start_time(pid)}


def is_same(found: Identity | None) -> bool:
    """Return whether the process with this identity still exists, a zombie included."""
    if not found or found.get("boot_id") != boot_id() or found.get("pid_ns") != pid_namespace():
        return False
    start = found.get("start_time")
    return start is not None and start_time(found["pid"]) == start


def is_alive(pid: int) -> bool:
    """Return whether the process exists and is not a zombie."""
    fields = stat_fields(pid)
    return fields is not None and fields[0] not in (b"Z", b"X")


def open_pidfd(pid: int) -> int | None:
    """Return a handle on the process (pidfd_open(2)); None where the system has none or the process
    is gone."""
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno in (errno.ESRCH, errno.ENOSYS, errno.EINVAL):
            return None
        raise


def send_signal(pid: int, start: int | None, number: int) -> bool:
    """Signal exactly this process; return False if it is gone. The pidfd is opened before the
    identity is checked.

    Checking first and signalling the number afterwards would leave a gap in which the pid can be
    used again.
    """
    if pid <= 1:
        return False
    from outlive.system.signals import signal

    pidfd = open_pidfd(pid)
    if pidfd is None:
        if hasattr(os, "pidfd_open"):
            return False
        return _send_plain(pid, start, number)
    try:
        if start is not None and start_time(pid) != start:
            return False
        signal.pidfd_send_signal(pidfd, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # alive, and not ours to signal (a set-uid program)
    finally:
        os.close(pidfd)
    return True


def _send_plain(pid: int, start: int | None, number: int) -> bool:
    if start is not None and start_time(pid) not in (start, None):
        return False
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def exit_status(pidfd: int) -> int | None:
    """Return the wait status of a process that is not our child and has been reaped; None if the
    kernel does not say.

    PIDFD_GET_INFO with PIDFD_INFO_EXIT (Linux 6.15) answers once its parent, usually PID 1, has
    reaped it.
    """
    request = bytearray(64)
    struct.pack_into("Q", request, 0, _PIDFD_INFO_EXIT)
    try:
        fcntl.ioctl(pidfd, _PIDFD_GET_INFO, request)
    except OSError:
        return None
    (mask,) = struct.unpack_from("Q", request, 0)
    if not mask & _PIDFD_INFO_EXIT:
        return None
    return int(struct.unpack_from("i", request, _EXIT_CODE_AT)[0])


class Used:
    """What a process and the children that it waited for have used."""

    __slots__ = ("peak_bytes", "system_us", "user_us")

    def __init__(self, user_us: int = 0, system_us: int = 0, peak_bytes: int = 0) -> None:
        """`peak_bytes`: the most that one process of them had in memory at once."""
        self.user_us = user_us
        self.system_us = system_us
        self.peak_bytes = peak_bytes


def ended_child(pid: int, *, leave: bool) -> tuple[int, Used | None] | None:
    """Return the wait(2) status of a child and what it used; None while it runs. What it used is
    None where this process cannot ask for it. `leave`: do not reap it. Errors: ChildProcessError.

    `os.waitid` does not return what a child used, and `os.wait4` loads a module and reaps.
    """
    flags = os.WEXITED | os.WNOHANG | (os.WNOWAIT if leave else 0)
    number = _waitid_number()
    if number:
        # Objects of their own, which the kernel writes into: equal constants would be one object
        info, used = bytes(bytearray(_INFO_BYTES)), bytes(bytearray(_USED_BYTES))
        if _libc("syscall", number, int(os.P_PID), pid, info, flags, used) == 0:
            told, _, code, _, _, _, status = struct.unpack_from(_SIGINFO, info)
            return (_wait_status(code, status), _used(used)) if told else None
    found = os.waitid(os.P_PID, pid, flags)
    return None if found is None else (_wait_status(found.si_code, found.si_status), None)


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


def _libc(name: str, *values: int | bytes) -> int:
    from outlive.system import prctl  # which needs this module

    return prctl.libc(name, *values)
