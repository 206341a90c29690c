"""The processes of a job: everything below its supervisor, and everything that carries its cookie.

Supervisors are subreapers, so a descendant that left its session or lost its parent is still below
its supervisor. The cookie, `OUTLIVE_JOB_ID=<id>` in the environment, finds the rest: an adopter is
not the parent of the command.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from outlive.core.ids import is_id
from outlive.core.record import Value
from outlive.core.records import Identity
from outlive.system import process
from outlive.system.fds import content, listed

COOKIE = "OUTLIVE_JOB_ID"
SINK_MARK = "OUTLIVE_EVENT_TYPE"  # in the environment of a notification command, not of a job
SINK_NAMES = (SINK_MARK, "OUTLIVE_EVENT_PATH")

# Names in the process table. No two of them share a word, nor does one with the server, so that no
# one pattern ends them all; and none contains "python", because agents run `pkill -9 python`.
GUARDIAN = "holdfast"
SUPERVISOR = "outrunner"
MIRROR = "outmirror"  # of a job on another machine
FORK_SERVER = "jobforker"
SANDBOX = "boxkeeper"  # process 1 of one
_OURS = frozenset(name.encode() for name in (GUARDIAN, SUPERVISOR, MIRROR, FORK_SERVER))


class Member(Value):
    """One living process of a job."""

    pid: int
    start: int


def _living(pid: int) -> list[Member]:
    """Return the process; nothing if it is gone or a zombie."""
    fields = process.stat_fields(pid)
    return [] if fields is None or fields[0] in (b"Z", b"X") else [Member(pid, int(fields[19]))]


def children(pid: int) -> list[int]:
    """Return the children of every thread of `pid`, zombies included (proc_tid_children(5))."""
    tasks = f"/proc/{pid}/task"
    return [int(word) for thread in listed(tasks) for word in content(f"{tasks}/{thread}/children").split()]


def below(root: int, skip: Iterable[int] = ()) -> list[Member]:
    """Return the living descendants of `root`, parents first, without `skip` and what is below it.

    The walk also stops at guardians, supervisors and mirrors of *other* jobs that were started from
    inside this one, because those jobs are to outlive their starter. They are recognized by their name and
    by their empty environment.
    """
    members: list[Member] = []
    todo = [root]
    seen = {root, *skip}
    while todo:
        for pid in children(todo.pop()):
            if pid in seen:
                continue
            seen.add(pid)
            if not is_ours(pid):
                todo.append(pid)
                members += _living(pid)
    return members


def with_cookie(job_id: str, *, sinks: bool = False) -> list[Member]:
    """Return the living processes with the cookie of this job, and the first one of its sandbox, without its notification
    commands and without those of other jobs in a sandbox, which may have set it; `sinks`: only notification commands."""
    wanted = f"{COOKIE}={job_id}".encode()
    members: list[Member] = []
    for pid in process.pids():
        words = environment(pid)
        is_first = not sinks and not any(words) and _first_for(pid, job_id)
        if is_first or (wanted in words and is_sink(pid) is sinks and job_of(pid) in (job_id, None)):
            members += _living(pid)
    return members


def _first_for(pid: int, job_id: str) -> bool:
    """Return whether it is process 1 of the sandbox of a job. Root alone reads its environment, so its words say so
    (parts/sandbox/confinement/init.c)."""
    if comm(pid) != SANDBOX.encode() or job_id not in command_line(pid).split()[:3]:
        return False
    parent = process.parent(pid)
    return number_inside(pid) == 1 and parent is not None and not _is_inside(parent)


def job_of(pid: int) -> str | None:
    """Return the id of the job that a process is of; None if it is of none. It or the nearest process above it says so: by
    its cookie, or by the name of a supervisor.

    In a sandbox only the first process is asked: a job can give the others any cookie and name, but reads and writes
    nothing of that one, whose parent is outside.
    """
    above: int | None = pid
    while above is not None and above > 1:
        parent = process.parent(above)
        if not (_is_inside(above) and parent is not None and _is_inside(parent)):
            words = command_line(above).split() if is_ours(above) else _cookies(above)
            job_id = next(filter(is_id, words), None)
            if job_id is not None:
                return job_id
        above = parent
    return None


def _cookies(pid: int) -> list[str]:
    mark = f"{COOKIE}=".encode()
    return [one[len(mark) :].decode("latin-1") for one in environment(pid) if one.startswith(mark)]


def supervisors_of(job_id: str, lock: tuple[int, int] | None) -> list[Member]:
    """Return the guardians and supervisors of a job, whatever its files say: they have its lock file
    open, `lock` (device, inode), or the job's id behind their name."""
    members: list[Member] = []
    for pid in filter(is_ours, process.pids()):
        if _has_open(pid, lock) or job_id in command_line(pid):
            members += _living(pid)
    return members


def _has_open(pid: int, wanted: tuple[int, int] | None) -> bool:
    for number in listed(f"/proc/{pid}/fd") if wanted else ():
        try:
            status = os.stat(f"/proc/{pid}/fd/{number}")
        except OSError:
            continue
        if (status.st_dev, status.st_ino) == wanted:
            return True
    return False


def is_ours(pid: int) -> bool:
    """Return whether it is a guardian, supervisor or fork server: by name and empty environment. None of them is in a
    sandbox, where a job may have made a process look like one."""
    return comm(pid) in _OURS and not any(environment(pid)) and not _is_in_sandbox(pid)


def _is_in_sandbox(pid: int) -> bool:
    above: int | None = pid
    while above is not None and _is_inside(above):
        pid, above = above, process.parent(above)
    return above != pid and comm(pid) == SANDBOX.encode()


def oldest_with_cookie(job_id: str) -> Identity | None:
    """Return the identity of a command without a record: the oldest process with the cookie has started all others.
    Process 1 of a sandbox is not a command."""
    candidates = [(member.start, member.pid) for member in with_cookie(job_id) if number_inside(member.pid) != 1]
    identity = process.identity(min(candidates)[1]) if candidates else None
    return identity if process.is_same(identity) else None  # it may have ended meanwhile


def number_inside(pid: int) -> int:
    """Return the pid that a process has in a pid namespace right below ours, 0 if it is in ours."""
    numbers = _numbers(pid)
    return int(numbers[1]) if len(numbers) == 2 else 0


def _is_inside(pid: int) -> bool:
    """Return whether a process is in a pid namespace below ours."""
    return len(_numbers(pid)) > 1


def _numbers(pid: int) -> list[bytes]:
    """Return the pids of a process, in our pid namespace and in each below it that it is in."""
    return content(f"/proc/{pid}/status").partition(b"\nNSpid:")[2].partition(b"\n")[0].split()


def running(identity: Identity | None) -> Member | None:
    """Return the process with this identity, if it is alive."""
    if identity is None or not process.is_same(identity):
        return None
    return next((one for one in _living(identity.pid) if one.start == identity.start_time), None)


def is_sink(pid: int) -> bool:
    """Return whether it is a notification command, or a process that one started. In a sandbox the first process says so, or
    what that was started by, as in `job_of`."""
    mark = f"{SINK_MARK}=".encode()
    above: int | None = pid
    while above is not None and above > 1 and not is_ours(above):
        parent = process.parent(above)
        if not (_is_inside(above) and parent is not None and _is_inside(parent)):
            words = environment(above)
            if any(words):
                return any(word.startswith(mark) for word in words)
        above = parent
    return False


def environment(pid: int) -> list[bytes]:
    """Return the environment that a process was started with; [b""] if it may not be read."""
    # What our processes have wiped is nothing but zeros
    return content(f"/proc/{pid}/environ").rstrip(b"\0").split(b"\0")


def command_line(pid: int) -> str:
    """Return argv joined by spaces, or the name in brackets as ps has it; "" if it is gone."""
    words = content(f"/proc/{pid}/cmdline").rstrip(b"\0").replace(b"\0", b" ")
    if not words and (name := comm(pid)):
        words = b"[%b]" % name
    return words.decode("utf-8", "replace")


def comm(pid: int) -> bytes:
    """Return the name in the process table, at most 15 bytes; b"" if the process is gone."""
    return content(f"/proc/{pid}/comm").rstrip(b"\n")


# --- the MCP client, as the servers and hooks that it starts see it ------------------------------------------------

Client = tuple[int, int]  # its pid, and its start in clock ticks after boot

# A client starts its commands by one of them. Most replace themselves by the command, but not all
_BETWEEN_CLIENT = (b"sh", b"bash", b"dash", b"zsh", b"fish", b"ksh", b"uv", b"uvx")
_MOST_BETWEEN = 6


def client() -> Client | None:
    """Return the nearest process above this one that is no shell: the client that started it."""
    pid: int | None = os.getppid()
    for _ in range(_MOST_BETWEEN):
        if not pid or not (name := comm(pid)):
            return None
        if name not in _BETWEEN_CLIENT:
            start = process.start_time(pid)
            return None if start is None else (pid, start)
        pid = process.parent(pid)
    return None


def is_client_there(host: Client) -> bool:
    """Return whether this process still exists."""
    return process.is_alive(host[0]) and process.start_time(host[0]) == host[1]
