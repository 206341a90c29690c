"""Which threads of a job are blocked reading its input, as the kernel says it; nothing is guessed.

/proc/PID/task/TID/syscall (proc_pid_syscall(5)) names the system call that a sleeping thread is in
and its arguments; /proc/PID/task/TID/fd says what its descriptors are. Reading these needs what
ptrace(2) needs: the same user, not set-uid, and under Yama's scope 1 an ancestor, which a
supervisor is unless it has adopted the job.

No file of the job is touched: os.stat() of a descriptor on a dead network file system would hang
the supervisor with the job, so a link is read first, and only pipes, sockets and possible terminals
are examined.

Not seen: io_uring_enter(2); 32-bit processes on aarch64; another devpts that counts its terminals
as ours does.
"""

from __future__ import annotations

import os
import select
import socket
import stat
import struct
import time
from collections.abc import Iterable

from outlive.core.record import Value
from outlive.system.fds import Closing

# Kinds of system calls. _READ_SECOND: the source is the second argument
_READ, _READ_SECOND, _POLL, _SELECT, _EPOLL, _RESTART = range(6)


def _table(*numbers: str) -> dict[int, int]:
    return {int(number): kind for kind, some in enumerate(numbers) for number in some.split()}


# In each: read, pread64, readv, preadv, preadv2, recvfrom, recvmsg, recvmmsg, splice, tee,
# copy_file_range; sendfile; poll, ppoll; select, pselect6; epoll_wait, epoll_pwait, epoll_pwait2;
# restart_syscall. (asm/unistd_64.h, _32.h)
_X86_64 = _table("0 17 19 295 327 45 47 299 275 276 326", "40", "7 271", "23 270", "232 281 441", "219")
_I386 = _table("3 180 145 333 378 371 372 337 313 315 377", "187 239", "168 309 414", "142 308 413", "256 319 441", "0")
# asm-generic/unistd.h: one table for the younger architectures
_GENERIC = _table("63 67 65 69 286 207 212 243 76 77 285", "71", "73", "72", "22 441", "128")
_TABLES = {"x86_64": _X86_64, "aarch64": _GENERIC, "riscv64": _GENERIC, "loongarch64": _GENERIC}
_TABLES_32 = {"x86_64": _I386}

_WANTS = select.POLLIN | select.POLLRDNORM  # also as EPOLLIN, EPOLLRDNORM: the same bits
_TTY = 5 << 8  # /dev/tty, the controlling terminal of the process that opens it (tty(4))
# Majors of terminals (devices.txt): consoles and serial lines, /dev/tty and ptmx, pseudo-terminals,
# USB, ARM, hvc
_TERMINALS = frozenset((2, 3, 4, 5, *range(128, 144), 166, 188, 204, 229))

_MOST_FDS = 1024  # examined in one set: a program that waits for more is a server
_MOST_BITS = 1 << 16  # of an fd_set
_MOST_THREADS = 4096  # of one process
_FDINFO = 1 << 17  # bytes, about 1700 entries of an epoll
# A thread that runs may be on its way into read(2): it is busy if it still runs after each of these
# pauses (seconds)
_PAUSES = (0, 0.0005, 0.002)

_GONE = (FileNotFoundError, ProcessLookupError)

# The tables for 64-bit and 32-bit programs of this machine
_tables: tuple[dict[int, int], dict[int, int]] | None = None


class Target(Value):
    """The input of a job: a pipe, a terminal, or both."""

    pipe: tuple[int, int] | None = None  # (st_dev, st_ino) of the stdin pipe
    terminal: int | None = None  # st_rdev of the pty slave


class ThreadStates:
    """What the threads of a job were doing at one moment."""

    reading: bool = False  # blocked in a read of the target
    polling: bool = False  # blocked in poll, select or epoll_wait over a set with the target in it
    # Each such set also holds a socket to somewhere else, or a terminal that is not the target. Sets are judged one by
    # one: a parent that has a connection open may look at the terminal too, on which its child waits alone
    others: bool = False
    pollers: tuple[int, ...] = ()  # processes with such a set
    busy: bool = False  # running or in uninterruptible sleep, so silence does not mean waiting
    unreadable: bool = False  # some thread could not be inspected, so its state is not known


def supported() -> bool:
    """Return whether this kernel tells: gVisor does not, nor does an architecture without a table."""
    global _tables
    if _tables is None:
        machine = os.uname().machine
        tables = (_TABLES.get(machine, {}), _TABLES_32.get(machine, {}))
        # The entry of this thread shows the read(2) that reads it, which proves both the file and
        # the table
        own = _own_syscall()
        _tables = tables if any(table.get(own) == _READ for table in tables) else ({}, {})
    return bool(_tables[0])


def _own_syscall() -> int:
    try:
        return int(_read("/proc/thread-self/syscall").split()[0])
    except (OSError, ValueError, IndexError):
        return -1


def inspect_threads(pids: Iterable[int], target: Target) -> ThreadStates:
    """Return what all threads of `pids` do now. Nothing is stopped; processes that vanish are passed over."""
    states = ThreadStates()
    if not supported():
        states.unreadable = True
        return states
    running = [where for pid in pids for where in _threads(pid, states) if not _settled(where, target, states)]
    for pause in _PAUSES:
        if not running:
            break
        time.sleep(pause)
        running = [where for where in running if not _settled(where, target, states)]
    states.busy = bool(running)
    return states


class _Thread(Value):
    """A sleeping thread."""

    where: str  # /proc/PID/task/TID
    # Its controlling terminal (tty_nr), the device number as in st_rdev
    terminal: int
    call: int
    args: list[int]


def _threads(pid: int, states: ThreadStates) -> list[str]:
    # Descriptors too are taken from the thread: those of a leader that has ended are gone while its
    # threads live on
    leader = f"/proc/{pid}/task/{pid}"
    try:
        fields = _stat(leader)
        if not fields or fields[17] == b"1":  # num_threads
            return [leader] if fields else []
        names = os.listdir(f"/proc/{pid}/task")
    except OSError as error:
        states.unreadable |= not isinstance(error, _GONE)
        return []
    states.unreadable |= len(names) > _MOST_THREADS
    return [f"/proc/{pid}/task/{name}" for name in names[:_MOST_THREADS]]


def _settled(where: str, target: Target, states: ThreadStates) -> bool:
    """Note what this thread does; return False if it does not sleep."""
    try:
        fields = _stat(where)
        if not fields:
            return True
        # R and D: running, or in uninterruptible sleep. All others are stopped or dead, and wait for
        # no input
        if fields[0] != b"S":
            return fields[0] not in (b"R", b"D")
        words = _read(f"{where}/syscall").split()
        if words[:1] == [b"running"]:
            return False
        thread = _decode(where, int(fields[4]) & 0xFFFFFFFF, words)
        if thread is not None:
            _note(thread, target, states)
    except _GONE:
        pass
    except OSError:
        # EACCES, EPERM: it may not be inspected. ENFILE, ENOMEM: we are short ourselves
        states.unreadable |= _is_living(where)
    return True


def _is_living(where: str) -> bool:
    """Return whether the thread still lives: files of an ending process may belong to root for a moment."""
    try:
        fields = _stat(where)
    except OSError:
        return True
    return bool(fields) and fields[0] not in (b"Z", b"X")


def _decode(where: str, terminal: int, words: list[bytes]) -> _Thread | None:
    """Return the thread if it is in a call of the tables. The words are "NR ARG0 … ARG5 SP PC", or
    "-1 SP PC" outside of a system call."""
    if len(words) != 9:
        return None
    # A stack below 4 GiB means a 32-bit program, which has other numbers (its read is 3, close in
    # 64 bits)
    table = (_tables or ({}, {}))[int(words[7], 16) <= 0xFFFFFFFF]
    call = table.get(int(words[0]))
    return None if call is None else _Thread(where, terminal, call, [int(word, 16) for word in words[1:7]])


def _note(thread: _Thread, target: Target, states: ThreadStates) -> None:
    if thread.call in (_READ, _READ_SECOND):
        fd = thread.args[thread.call == _READ_SECOND]
        # A splice from an empty pipe waits for input, one from a full pipe for its target: the
        # caller knows which it is
        states.reading |= _kind(thread, fd & 0xFFFFFFFF, target) == "target"
    elif thread.call == _SELECT:
        _note_set(thread, _select_set(thread), target, states)
    elif thread.call == _EPOLL:
        _note_set(thread, _epoll_set(thread, thread.args[0] & 0xFFFFFFFF), target, states)
    elif thread.call == _POLL or _restarts_poll(thread):
        _note_set(thread, _poll_set(thread), target, states)


def _restarts_poll(thread: _Thread) -> bool:
    """Return whether a restart_syscall(2), which follows a stop and leaves the registers as they
    were, is a poll: it may also be a sleep or a futex.

    Where the kernel hides wchan ("0"), the arguments tell: in place of nfds a sleep has a pointer,
    and a futex an operation (FUTEX_WAIT, FUTEX_WAIT_BITSET with their flags, futex(2)).
    """
    waits_in = _read(f"{thread.where}/wchan")
    if waits_in in (b"", b"0"):
        return thread.args[1] < _MOST_BITS and thread.args[1] not in (0, 9, 0x80, 0x89, 0x109, 0x189)
    return b"poll" in waits_in


def _note_set(thread: _Thread, entries: list[tuple[int, int]], target: Target, states: ThreadStates) -> None:
    """Note what a set holds. `entries` are (fd, whether the thread waits for it to become
    readable); an epoll among them adds its own entries, once."""
    polling = others = False
    sockets: list[str] = []
    opened: set[int] = set()
    for count, (fd, wanted) in enumerate(entries):  # the loop appends to it
        if count == _MOST_FDS:
            others = True
            break
        kind = _kind(thread, fd, target)
        if kind == "target":
            polling |= bool(wanted)
        elif kind == "terminal":
            others = True
        elif kind.startswith("socket:"):
            sockets.append(kind)
        elif kind == "epoll" and wanted and fd not in opened:
            opened.add(fd)
            entries += _epoll_set(thread, fd)
    if polling and (states.others or not states.polling):
        # The sockets are looked up only now, because most sets do not hold the target
        states.others = others or any(not _is_internal(thread, link) for link in sockets)
    if polling:
        states.polling = True
        states.pollers += (int(thread.where.split("/")[2]),)


def _poll_set(thread: _Thread) -> list[tuple[int, int]]:
    """Return the entries of a poll(2): struct pollfd { int fd; short events, revents; }."""
    count = min(thread.args[1] & 0xFFFFFFFF, _MOST_FDS + 1)
    data = _memory(thread, thread.args[0], count * 8)
    return [(fd, events & _WANTS) for fd, events, _ in struct.iter_unpack("ihh", data[: len(data) & ~7]) if fd >= 0]


def _select_set(thread: _Thread) -> list[tuple[int, int]]:
    """Return the entries of a select(2): bitmaps of fds to become readable, writable, exceptional."""
    bits = min(thread.args[0] & 0xFFFFFFFF, _MOST_BITS)
    size = (bits + 7) // 8
    entries: list[tuple[int, int]] = []
    for number, address in enumerate(thread.args[1:4]):
        bitmap = int.from_bytes(_memory(thread, address, size), "little") & ((1 << bits) - 1)
        while bitmap and len(entries) <= _MOST_FDS:
            lowest = bitmap & -bitmap
            entries.append((lowest.bit_length() - 1, number == 0))
            bitmap ^= lowest
    return entries


def _epoll_set(thread: _Thread, fd: int) -> list[tuple[int, int]]:
    """Return the entries of an epoll, which proc_pid_fdinfo(5) has as lines "tfd: FD events: HEX
    data: …". A fired EPOLLONESHOT has no interest left."""
    # The last is empty, or was cut
    lines = _read(f"{thread.where}/fdinfo/{fd}", _FDINFO).split(b"\n")[:-1]
    words = [line.split(maxsplit=4) for line in lines if line.startswith(b"tfd:")]
    return [(int(word[1]), int(word[3], 16) & _WANTS) for word in words if len(word) > 3]


def _memory(thread: _Thread, address: int, size: int) -> bytes:
    """Return what can be read of this memory (proc_pid_mem(5)). process_vm_readv(2) would block on
    a page that waits for userfaultfd(2)."""
    if not address or not size:
        return b""
    with Closing(os.open(f"{thread.where}/mem", os.O_RDONLY | os.O_CLOEXEC)) as fd:
        try:
            return os.pread(fd, size, address)
        except (OSError, OverflowError):  # garbage, or unmapped by another thread
            return b""


def _kind(thread: _Thread, fd: int, target: Target) -> str:
    """Return what an fd is: "target", "terminal" (another one), "epoll", "socket:[INODE]" or ""."""
    path = f"{thread.where}/fd/{fd}"
    try:
        link = os.readlink(path)
        if link.startswith("anon_inode:"):
            return "epoll" if link == "anon_inode:[eventpoll]" else ""
        if not _is_safe_to_stat(link):
            return ""
        info = os.stat(path)
    except _GONE:  # closed
        return ""
    if stat.S_ISCHR(info.st_mode):
        device = thread.terminal if info.st_rdev == _TTY else info.st_rdev
        if device == target.terminal:
            return "target"
        return "terminal" if os.major(info.st_rdev) in _TERMINALS else ""
    if (info.st_dev, info.st_ino) == target.pipe:
        return "target"
    return link if stat.S_ISSOCK(info.st_mode) else ""


def _is_safe_to_stat(link: str) -> bool:
    """Return whether this is a pipe, a socket or possibly a terminal, so that stat(2) asks no file
    server. A sandbox may show /dev/pts/3 as /3."""
    name = link.rpartition("/")[2]
    return link.startswith(("pipe:[", "socket:[", "/dev/")) or name.isdigit() or name.startswith(("tty", "ptmx"))


def _is_internal(thread: _Thread, link: str) -> bool:
    """Return whether this process holds both ends of the socketpair(2), with which every asyncio loop wakes itself."""
    peer = _unix_peer(int(link[len("socket:[") : -1]))
    if not peer:
        return False
    for name in os.listdir(f"{thread.where}/fd")[:_MOST_FDS]:
        try:
            if os.readlink(f"{thread.where}/fd/{name}") == f"socket:[{peer}]":
                return True
        except _GONE:  # closed
            continue
    return False


def _unix_peer(inode: int) -> int:
    """Return the inode of the other end; 0 if it is no UNIX socket, has no peer, or the kernel does
    not say (sock_diag(7)).

    The request is about one socket. /proc/net/unix names no peers, and has a line for every socket
    of the machine.
    """
    request = struct.pack("=IHHIIBBHIII8s", 40, 20, 1, 0, 0, socket.AF_UNIX, 0, 0, 0xFFFFFFFF, inode, 4, b"\xff" * 8)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 4) as sock:  # NETLINK_SOCK_DIAG
            sock.send(request)
            answer = sock.recv(4096, socket.MSG_DONTWAIT)
    except OSError:
        return 0
    # An answer has the type SOCK_DIAG_BY_FAMILY (20), an error another one
    if len(answer) < 40 or struct.unpack_from("=H", answer, 4)[0] != 20:
        return 0
    # The one attribute that was asked for
    size, kind, peer = struct.unpack_from("=HHI", answer, 32)
    return int(peer) if (size, kind) == (8, 2) else 0  # UNIX_DIAG_PEER


def _stat(where: str) -> list[bytes]:
    """Return the fields from 3 (state) on; none if the thread is gone (proc_pid_stat(5))."""
    try:
        return _read(f"{where}/stat").rpartition(b")")[2].split()
    except _GONE:
        return []


def _read(path: str, size: int = 4096) -> bytes:
    with Closing(os.open(path, os.O_RDONLY | os.O_CLOEXEC)) as fd:
        return os.read(fd, size)
