"""File descriptors: keeping them, and closing all others, and passing them between processes."""

from __future__ import annotations

import _thread
import errno
import fcntl
import os
import resource
import select
import socket
import stat
import struct
import sys
from collections.abc import Callable

SCRIPT = 9  # of a command whose script is a file (scripts.py): the highest that sh can name
_INT_BYTES = struct.calcsize("i")
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
# Numbers: what enumerations of `socket` do takes time of each message, and pages of each job
PEEK, _DONTWAIT, _NOSIGNAL = int(socket.MSG_PEEK), int(socket.MSG_DONTWAIT), int(socket.MSG_NOSIGNAL)
_CLOEXEC, _CUT = int(socket.MSG_CMSG_CLOEXEC), int(socket.MSG_TRUNC | socket.MSG_CTRUNC)
# Of `_thread`: `threading` runs code after each fork, which costs 0.3 MB of each job
_raised = _thread.allocate_lock()  # the limit of open files is the whole process's: one thread at a time raises it


def open_fds() -> list[int]:
    """Return the fds of this process in ascending order."""
    try:
        return sorted(int(name) for name in os.listdir("/proc/self/fd"))
    except OSError:
        return list(range(1024))


def open_standard() -> None:
    """Open /dev/null for each closed standard stream; else a file of the store would get our answer."""
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(fd)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free fd: this one
            setattr(sys, name, open(fd, "w" if fd else "r", closefd=False))  # Python has None there


def close_others(keep: set[int]) -> None:
    """Close all fds from 3 on but `keep`: an inherited listening socket would keep its port busy for ever."""
    first = 3
    for fd in (*sorted(keep - {0, 1, 2}), open_fds()[-1] + 1):
        os.closerange(first, fd)
        first = fd + 1


def null_stdio() -> None:
    """Point 0, 1 and 2 at /dev/null, so that a reader of our caller's pipe sees it close."""
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for fd in (0, 1, 2):
        os.dup2(null, fd, inheritable=True)
    if null > 2:
        os.close(null)


class Closing:
    """Closes an fd at the end of a block: `with Closing(fd):`, or `as` the number of it."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def __enter__(self) -> int:
        return self._fd

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def poll(fd: int, events: int, timeout_ms: float | None = 0) -> int:
    """Wait until one of these events of poll(2) is true of a file, at most so long; None: without limit. Return those that
    are, 0 if none is. An error and a hangup count, asked for or not."""
    poller = select.poll()
    poller.register(fd, events)
    return next((happened for _, happened in poller.poll(timeout_ms)), 0)


def names_in(directory: int, name: str = ".") -> list[str]:
    """Return the names in a directory below an open one. It is opened anew: the position of a listing belongs to the open
    directory, so two threads that read the same one would each miss what the other one got. Errors: OSError, also for a
    link in its place."""
    with Closing(os.open(name, DIRECTORY, dir_fd=directory)) as fd:
        return os.listdir(fd)


def memory_file(name: str, data: bytes) -> int:
    """Return an fd, at offset 0, of a file in memory that holds `data`: a socket's messages are limited."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC)
    try:
        write_all(fd, data)
        os.lseek(fd, 0, os.SEEK_SET)
    except BaseException:
        os.close(fd)
        raise
    return fd


def keep_free(number: int, files: dict[int, int]) -> None:
    """Move those of our fds, the values of `files`, that have this number to a higher one."""
    for name, fd in files.items():
        if fd == number:
            files[name] = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, number + 1)
            os.close(fd)


def listed(path: str) -> list[str]:
    """Return the names in a directory, as one of /proc; none if it cannot be read."""
    try:
        return os.listdir(path)
    except OSError:
        return []


def content(path: str, most: int = 1 << 30) -> bytes:
    """Return the first `most` bytes of a file, as those of /proc; nothing if it cannot be read. (What `open` does in
    addition takes as long again, and as text it may import a codec.)"""
    pieces = []
    try:
        with Closing(os.open(path, os.O_RDONLY | os.O_CLOEXEC)) as fd:
            while most > 0 and (piece := os.read(fd, min(most, 65_536))):
                pieces.append(piece)
                most -= len(piece)
    except OSError:
        return b""
    return b"".join(pieces)


class NotRegular(OSError):
    """What was to be read is a directory, a device, a FIFO or a socket."""


def open_regular(path: str, flags: int = 0, *, dir_fd: int | None = None) -> int:
    """Return an fd to read a regular file. It is looked at before it is opened: a job may have put a link to a device in
    its place, and to open some devices is to start them (a watchdog, a tape). Errors: NotRegular, OSError."""
    with Closing(os.open(path, os.O_PATH | os.O_CLOEXEC | flags, dir_fd=dir_fd)) as there:
        if not stat.S_ISREG(os.fstat(there).st_mode):
            raise NotRegular(errno.EINVAL, "it is no regular file", path)
        return os.open(f"/proc/self/fd/{there}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


def open_named(path: str, flags: int = 0) -> int:
    """Return an fd to read what a caller names on a command line: a FIFO too, as shells make of `<(…)`, and a device if it is
    named as one. A job may have put a link to a device in the place of a file. Errors: NotRegular, OSError."""
    with Closing(os.open(path, os.O_PATH | os.O_CLOEXEC)) as there:
        mode = os.fstat(there).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)) and os.path.dirname(path) not in ("/dev", "/dev/fd"):
            raise NotRegular(errno.EINVAL, "it is a device", path)
        return os.open(f"/proc/self/fd/{there}", os.O_RDONLY | os.O_CLOEXEC | flags)


def read_all(fd: int) -> bytes:
    """Return the whole content of the file behind `fd`, whatever its offset."""
    size = os.fstat(fd).st_size
    pieces = []
    at = 0
    while at < size:
        piece = os.pread(fd, min(size - at, 1 << 20), at)
        if not piece:
            break
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces)


def write_all(fd: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def pair() -> tuple[socket.socket, socket.socket]:
    """Return two connected sockets that carry whole messages and fds."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def new_socket() -> socket.socket:
    """Return an unconnected socket that carries whole messages."""
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def connected(directory: int, name: str, *, wait: bool = True) -> socket.socket:
    """Return a socket that is connected to `name` in an open directory. Errors: OSError;
    BlockingIOError if it may not wait for its turn."""
    sock = new_socket()
    try:
        sock.setblocking(wait)
        sock.connect(socket_path(directory, name))
    except OSError:
        sock.close()
        raise
    return sock


def peer_pid(sock: socket.socket) -> int:
    """Return the process that called connect(2) or listen(2) at the other end; 0 if it is in another
    pid namespace or the socket has no such end."""
    try:
        data = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 3 * _INT_BYTES)
    except OSError:
        return 0
    return int(struct.unpack("i", data[:_INT_BYTES])[0])


def socket_of(fd: int) -> socket.socket:
    """Return the socket behind `fd`, which owns the fd from now on."""
    return socket.socket(fileno=fd)


def accept(listener: socket.socket) -> socket.socket:
    """Return the next connection. Errors: BlockingIOError, OSError."""
    return listener.accept()[0]


def socket_path(dir_fd: int, name: str) -> str:
    """Return a path for `name` in an open directory that fits into the 107 bytes of sun_path (unix(7))."""
    return f"/proc/self/fd/{dir_fd}/{name}"


def send(sock: socket.socket, message: bytes, fds: tuple[int, ...] = (), *, wait: bool = True) -> None:
    """Send one message with fds (SCM_RIGHTS), without SIGPIPE. Errors: BlockingIOError if it may not wait."""
    flags = _NOSIGNAL | (0 if wait else _DONTWAIT)
    if not fds:
        sock.send(message, flags)
        return
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack(f"{len(fds)}i", *fds))]
    try:
        sock.sendmsg([message], rights, flags)
    except OSError as error:
        if error.errno != errno.ETOOMANYREFS:
            raise
        _send_beyond_limit(lambda: sock.sendmsg([message], rights, flags))


def _send_beyond_limit(send: Callable[[], object]) -> None:
    """Send under the hard limit of open files: so many a user may have in flight in all processes, compared with the
    limit of the sender (unix(7), ETOOMANYREFS). Errors: OSError."""
    with _raised:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        try:
            send()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def receive(sock: socket.socket, size: int, *, wait: bool = True) -> tuple[bytes, list[int]]:
    """Return one message and its fds, at most 8; b"" when the other end is gone, b"\\0" without fds for a message that
    was cut, so that no half of it is obeyed. Errors: BlockingIOError if it may not wait."""
    flags = _CLOEXEC | (0 if wait else _DONTWAIT)
    room = socket.CMSG_SPACE(8 * _INT_BYTES)
    message, control, answer_flags, _ = sock.recvmsg(size, room, flags)
    fds: list[int] = []
    for level, kind, data in control:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            count = len(data) // _INT_BYTES
            fds.extend(struct.unpack_from(f"{count}i", data))
    if answer_flags & _CUT:
        for fd in fds:
            os.close(fd)
        return b"\0", []
    return message, fds


def has_message(sock: socket.socket) -> bool:
    """Return whether a message waits to be received."""
    try:
        return bool(sock.recv(1, PEEK | _DONTWAIT))
    except OSError:
        return False


def set_pipe_size(fd: int, size: int) -> bool:
    """Change the capacity of a pipe; return False if the kernel refuses: EPERM, the user's pipe
    pages are used up; EBUSY, it holds more."""
    try:
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, size)
    except OSError:
        return False
    return True
