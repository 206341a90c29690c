"""What holds up a job that is silent: the process in the foreground and what it waits for, as /proc
tells it.

A reader may be no ancestor of the job, so nothing here needs what ptrace(2) needs to attach:
/proc/PID/wchan and /proc/PID/fd are open to the same user (proc(5)). Where the kernel hides wchan
("0"), a sleeping process is said to wait, and no more.
"""

from __future__ import annotations

from collections.abc import Iterable

from outlive.core.record import Value
from outlive.parts.tcp import numeric
from outlive.system import process
from outlive.system.fds import content, listed

# What a process does. WAITING: the kernel does not say for what
STOPPED, COMPUTING, DISK, TIMER, PIPE, FULL_PIPE, FULL_SOCKET, FIFO, CHILD, TERMINAL, LOCK, THREADS, FILES, WAITING = (
    "stopped computing disk timer pipe full_pipe full_socket fifo child terminal lock threads files waiting".split()
)
AT_PIPES = (PIPE, FULL_PIPE)
# The function in which a thread sleeps, or the beginning of its name, → what it does there. FILES: in
# poll(2) and its like, or in a socket. THREADS: until another thread or process releases a lock, in all threads
_PLACES = (
    (("hrtimer_nanosleep", "do_nanosleep"), TIMER),
    (("anon_pipe_read", "pipe_read", "fifo_pipe_read", "pipe_wait_read"), PIPE),
    (("anon_pipe_write", "pipe_write", "fifo_pipe_write", "pipe_wait_write"), FULL_PIPE),
    (("sock_alloc_send",), FULL_SOCKET),
    (("wait_for_partner",), FIFO),
    (("do_wait", "kernel_wait4"), CHILD),
    (("n_tty_read", "tty_read"), TERMINAL),
    (("locks_lock", "flock_lock", "posix_lock", "fcntl_setlk", "__break_lease"), LOCK),
    (("futex_",), THREADS),
    (("poll_schedule", "do_poll", "do_sys_poll", "do_select", "ep_poll", "do_epoll", "wait_woken"), FILES),
    (("inet_", "tcp_", "sk_wait", "unix_", "__skb_wait", "skb_wait", "udp"), FILES),
)
# Of /proc/net/tcp (tcp_states.h)
LISTENING, CONNECTED, CONNECTING = "listening", "connected", "connecting"
_TCP_STATES = {b"01": CONNECTED, b"02": CONNECTING, b"0A": LISTENING}
_MOST_FDS = 512
_MOST_LOCKS = 4096  # bytes about one open file
_MOST_BYTES = 1 << 20  # of a table of sockets: a machine with more connections is not searched to its end


class Socket(Value):
    """A TCP socket of a process: `port` is its own where it listens, else that of `peer`."""

    state: str
    port: int
    peer: str = ""


def chain(pid: int, members: Iterable[int]) -> list[int]:
    """Return the processes from `pid` down to the one in the foreground; empty if it is gone.

    Of several children it is one in the foreground of the terminal, then one that does not read a
    pipe, as the end of a pipeline does, then the youngest.
    """
    below: dict[int, list[tuple[bool, bool, int, int]]] = {}
    for member in members:
        fields = process.stat_fields(member)
        if fields is not None and fields[0] not in (b"Z", b"X"):
            in_front = fields[2] == fields[5]  # its process group is that of its terminal's foreground
            rank = (in_front, activity(member) != PIPE, int(fields[19]), member)
            below.setdefault(int(fields[1]), []).append(rank)
    if not process.is_alive(pid):
        return []
    chain = [pid]
    while below.get(chain[-1]):
        chain.append(max(below.pop(chain[-1]))[3])
    return chain


def activity(pid: int) -> str:
    """Return what a process does now; of several threads the one that does most counts."""
    threads = listed(f"/proc/{pid}/task")[:_MOST_FDS]
    states = {(process.stat_fields(f"{pid}/task/{thread}") or [b""])[0] for thread in threads}
    for letter, doing in ((b"R", COMPUTING), (b"D", DISK), (b"T", STOPPED), (b"t", STOPPED)):
        if letter in states:
            return doing
    doing = _waits_for(f"/proc/{pid}")
    if doing != THREADS:
        return doing
    others = (_waits_for(f"/proc/{pid}/task/{thread}") for thread in threads if thread != str(pid))
    return next((other for other in others if other not in (THREADS, WAITING)), THREADS)


def _waits_for(where: str) -> str:
    place = content(f"{where}/wchan").decode("ascii", "replace")
    return next((doing for names, doing in _PLACES if place.startswith(names)), WAITING)


def sockets(pid: int) -> list[Socket]:
    """Return the TCP sockets of a process that listen, are connected or are connecting."""
    inodes = {link[len("socket:[") : -1] for link in process.open_links(pid) if link.startswith("socket:[")}
    if not inodes:
        return []
    return [one for table in ("tcp", "tcp6") for one in _in_table(f"/proc/{pid}/net/{table}", inodes)]


def _in_table(path: str, inodes: set[str]) -> list[Socket]:
    sockets = []
    for line in content(path, _MOST_BYTES).split(b"\n")[1:]:
        fields = line.split()
        if len(fields) < 10 or fields[3] not in _TCP_STATES or fields[9].decode() not in inodes:
            continue
        state = _TCP_STATES[fields[3]]
        address, _, port = fields[1 if state == LISTENING else 2].partition(b":")
        sockets.append(Socket(state, int(port, 16), "" if state == LISTENING else numeric(address)))
    return sockets


def lock_holder(pid: int) -> int | None:
    """Return the process that holds the lock which `pid` waits for; None if that is not known
    (proc_locks(5)).

    A line "1: POSIX ADVISORY WRITE PID DEVICE:INODE …" is followed by one with "->" for each that waits for it. PID is who
    took the lock; a lock of flock(2) belongs to the open file, which `flock 9` leaves to its shell.
    """
    holder, lock = None, b""
    for line in content("/proc/locks", _MOST_BYTES).split(b"\n"):
        words = line.split()
        if len(words) < 6:
            continue
        if words[1] != b"->":
            holder, lock = int(words[4]), b" ".join(words[1:6])
        elif int(words[5]) == pid:
            return holder if holder and process.is_alive(holder) else _keeper(lock)
    return None


def _keeper(lock: bytes) -> int | None:
    """Return the first process of this user with an open file that has a lock, as proc(5) shows it below fdinfo."""
    for pid in sorted(process.pids()):
        for name in listed(f"/proc/{pid}/fdinfo")[:_MOST_FDS]:
            told = content(f"/proc/{pid}/fdinfo/{name}", _MOST_LOCKS)
            if b"\nlock:" in told and any(lock in b" ".join(line.split()) for line in told.split(b"\n")):
                return pid
    return None
