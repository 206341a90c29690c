"""The identity of a process: boot id, pid namespace, pid and start time. The kernel uses a pid again.
And what living processes use, as /proc tells it (proc_pid_stat(5)). Nothing here waits or wakes."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress

from outlive.core.records import Identity
from outlive.system import fds
from outlive.system.fds import content

# pidfd.h, Linux 6.13 (EXIT: 6.15): _IOWR(0xFF, 11, struct pidfd_info), 64 bytes in its first
# version
_PIDFD_GET_INFO = (3 << 30) | (64 << 16) | (0xFF << 8) | 11
_PIDFD_INFO_EXIT = 1 << 3
_EXIT_CODE_AT = 60

_boot_id: str | None = None


def boot_id() -> str:
    """Return the id of this boot, "" where there is none. After a reboot no old pid means anything."""
    global _boot_id
    if _boot_id is None:
        _boot_id = fds.content("/proc/sys/kernel/random/boot_id").strip().decode()
    return _boot_id


def has_proc() -> bool:
    """Return whether there is a /proc, and not an empty directory."""
    return os.path.exists("/proc/self/stat")


def umask() -> int:
    """Return the umask of this process. Without /proc it is set and set again (umask(2)): another
    thread that makes a file meanwhile gets a mode for its owner alone."""
    told = fds.content("/proc/self/status").partition(b"\nUmask:")[2]
    if told:
        return int(told.split(None, 1)[0], 8)
    old = os.umask(0o077)
    os.umask(old)
    return old


def namespace(kind: str, pid: int | None = None) -> str:
    """Return the namespace of a process (namespaces(7)), by default this one, `pid` that in which pids mean something; ""
    where the link cannot be read."""
    try:
        return os.readlink(f"/proc/{'self' if pid is None else pid}/ns/{kind}")
    except OSError:
        return ""


def is_first_namespace() -> bool:
    """Return whether our pids are those of the kernel itself (PROC_PID_INIT_INO, linux/proc_ns.h)."""
    return namespace("pid") == "pid:[4026531836]"


def pids() -> list[int]:
    """Return all processes that this one sees."""
    return [int(name) for name in fds.listed("/proc") if name.isdigit()]


def open_links(pid: int) -> Iterator[str]:
    """Yield what the open files of a process are (proc_pid_fd(5)); nothing if it is gone or not ours."""
    for name in fds.listed(f"/proc/{pid}/fd"):
        with suppress(OSError):  # closed meanwhile
            yield os.readlink(f"/proc/{pid}/fd/{name}")


def stat_fields(pid: int | str) -> list[bytes] | None:
    """Return the fields of /proc/PID/stat (proc_pid_stat(5)) from field 3, state, on; None if it is gone. A
    thread is PID/task/TID."""
    data = fds.content(f"/proc/{pid}/stat")
    return data[data.rindex(b")") + 2 :].split() if data else None  # the name may hold spaces and parentheses


def start_time(pid: int) -> int | None:
    """Return the start of the process in clock ticks after boot; None if it is gone."""
    fields = stat_fields(pid)
    return int(fields[19]) if fields else None


def parent(pid: int) -> int | None:
    """Return the pid of the parent; None if the process is gone."""
    fields = stat_fields(pid)
    return int(fields[1]) if fields else None


def ancestors(pid: int) -> list[int]:
    """Return the processes above one, from its parent up."""
    found: list[int] = []
    while (above := parent(found[-1] if found else pid)) and above not in found:
        found.append(above)
    return found


def session(pid: int) -> int | None:
    """Return the session of the process, 0 for one that began in another pid namespace; None if the process is gone."""
    fields = stat_fields(pid)
    return int(fields[3]) if fields else None


def terminal(pid: int) -> int:
    """Return the number of the device that is the controlling terminal; 0 if there is none."""
    fields = stat_fields(pid)
    return int(fields[4]) if fields else 0


def identity(pid: int) -> Identity:
    return Identity(boot_id=boot_id(), pid_ns=namespace("pid"), pid=pid, start_time=start_time(pid))


def is_same(identity: Identity | None) -> bool:
    """Return whether the process with this identity still exists, a zombie included."""
    if identity is None or identity.boot_id != boot_id() or identity.pid_ns != namespace("pid"):
        return False
    return identity.start_time is not None and start_time(identity.pid) == identity.start_time


def is_alive(pid: int) -> bool:
    """Return whether the process exists and is not a zombie."""
    fields = stat_fields(pid)
    return fields is not None and fields[0] not in (b"Z", b"X")


def open_pidfd(pid: int) -> int | None:
    """Return a handle on the process; None where pidfd_open(2) is missing or the process is gone."""
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno in (errno.ESRCH, errno.ENOSYS, errno.EINVAL):
            return None
        raise


def send_signal(pid: int, start: int | None, number: int) -> bool:
    """Signal exactly this process; return False if it is gone. The pidfd is opened before the identity is checked: else
    the pid could be used again in between."""
    if pid <= 1:
        return False
    pidfd = open_pidfd(pid)
    if pidfd is None and hasattr(os, "pidfd_open"):
        return False
    try:
        if start is not None and start_time(pid) != start:
            return False
        if pidfd is None:
            os.kill(pid, number)
        else:
            signal.pidfd_send_signal(pidfd, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # alive, and not ours to signal (a set-uid program)
    finally:
        if pidfd is not None:
            os.close(pidfd)
    return True


def exit_status(pidfd: int) -> int | None:
    """Return the wait status of a process that another one has reaped; None if the kernel does not say, which does from
    Linux 6.15 on (PIDFD_INFO_EXIT)."""
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


_UTIME, _STIME, _CUTIME, _CSTIME, _RSS = 11, 12, 13, 14, 21  # places in `stat_fields`
_TICK_US = 1_000_000 // (os.sysconf("SC_CLK_TCK") or 100)
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Use:
    """The sums of a tree of processes, and their ended children; of `peak_bytes` the largest of one."""

    user_us: int = 0
    system_us: int = 0
    memory_bytes: int = 0
    peak_bytes: int = 0
    processes: int = 0
    read_bytes: int = 0
    written_bytes: int = 0


def use_of(pids: Iterable[int], *, whole: bool = True) -> Use:
    """Return what these processes use; not `whole`: times and memory, which cost one file of each."""
    use = Use()
    for pid in pids:
        fields = stat_fields(pid)
        if fields is None:
            continue
        use.processes += 1
        use.user_us += (int(fields[_UTIME]) + int(fields[_CUTIME])) * _TICK_US
        use.system_us += (int(fields[_STIME]) + int(fields[_CSTIME])) * _TICK_US
        use.memory_bytes += int(fields[_RSS]) * _PAGE
        if whole:
            use.peak_bytes = max(use.peak_bytes, _value(pid, "status", b"VmHWM:") * 1024)
            use.read_bytes += _value(pid, "io", b"read_bytes:")
            use.written_bytes += _value(pid, "io", b"write_bytes:")
    return use


def shared_fairly_bytes(pids: Iterable[int]) -> int:
    """Return the memory of these processes together, in which a page that several share counts
    once (proc_pid_smaps(5), Pss). The kernel walks all pages for it; ask seldom."""
    return sum(_value(pid, "smaps_rollup", b"Pss:") for pid in pids) * 1024


def _value(pid: int, name: str, label: bytes) -> int:
    """Return the number behind `label` in a file of /proc/PID; 0 where it may not be read."""
    words = content(f"/proc/{pid}/{name}").partition(label)[2].split(None, 1)
    return int(words[0]) if words and words[0].isdigit() else 0
