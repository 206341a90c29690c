"""The processes of outlive above a job, found as a person finds them: by their names in the process table."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from outlive.launch import fork_server_client
from outlive.store.job_dir import JobDir
from support import processes
from support.wait import until

SUPERVISOR, GUARDIAN, FORK_SERVER = "outrunner", "holdfast", "jobforker"
_last_seen: dict[str, int] = {}  # job → its supervisor: a test that waits for its end asks many times


def comm(pid: int) -> str:
    return processes.name(pid)


def supervisor(job: str) -> int:
    """The supervisor of a job that runs. It takes its name after its caller has the answer, and a successor some time
    after the death of the one before."""
    return until(lambda: supervisor_now(job), what=f"a supervisor of {job}")


def supervisor_now(job: str) -> int:
    """The supervisor of a job; 0 if there is none at this moment."""
    known = _last_seen.get(job, 0)
    if known and _supervises(known, job):
        return known
    found = next((int(name) for name in os.listdir("/proc") if name.isdigit() and _supervises(int(name), job)), 0)
    _last_seen[job] = found
    return found


def _supervises(pid: int, job: str) -> bool:
    return comm(pid) == SUPERVISOR and processes.is_alive(pid) and job in " ".join(processes.command_line(pid))


def is_supervised(root: Path, job: str) -> bool:
    """Whether the lock of its supervisor is held: what `status` says, without a process that says it."""
    with JobDir(str(root), job, os.open(root / job, os.O_RDONLY | os.O_DIRECTORY)) as found:
        return found.is_supervised()


def until_free(root: Path, job: str) -> None:
    """Wait until everything about a job is done: its guardian and its supervisor have let go of its lock. Looking for a
    supervisor by its name does not show that: it takes the name after its caller has the answer."""
    until(lambda: not is_supervised(root, job), what=f"the end of the supervisor of {job}")


def guardian(job: str) -> int:
    """The guardian of a job that runs, whose supervisor is still the first one or an adopter."""
    found = processes.parent(supervisor(job))
    assert comm(found) == GUARDIAN, f"{found} is {comm(found)!r}"
    return found


def fork_server(job: str) -> int:
    """The fork server that started a job."""
    found = processes.parent(guardian(job))
    assert comm(found) == FORK_SERVER, f"{found} is {comm(found)!r}"
    return found


def forget_end(root: Path, job: str) -> None:
    """Take the end of a job out of its history, which would know it."""
    events = root / job / "events.ndjson"
    events.write_bytes(events.read_bytes().partition(b'"finished"')[0].rpartition(b"\n")[0] + b"\n")


def is_stopped(pid: int) -> bool:
    return processes.state(pid) == "T"


@contextlib.contextmanager
def stopped(job: str) -> Iterator[int]:
    """Stop the supervisor of a job, whose pid is the value, and continue it in the end."""
    pid = supervisor(job)
    os.kill(pid, signal.SIGSTOP)
    try:
        until(lambda: is_stopped(pid), what="the stop")
        yield pid
    finally:
        os.kill(pid, signal.SIGCONT)


def end_pair(job: str) -> None:
    """End the guardian and the supervisor of a job that runs."""
    end(guardian(job), supervisor(job))


def take_over(job: str) -> int:
    """End the supervisor of a job, and return the supervisor that takes its place."""
    end(supervisor(job))
    return supervisor(job)


def end_both(supervisor: int) -> None:
    """End a supervisor and, if it has one, its guardian."""
    above = processes.parent(supervisor)
    both = [pid for pid in (above, supervisor) if comm(pid) in (GUARDIAN, SUPERVISOR)]
    end(*both)


def end(*pids: int) -> None:
    """SIGKILL processes. Several are stopped first, so that none acts on the end of another."""
    for number in (signal.SIGSTOP, signal.SIGKILL) if len(pids) > 1 else (signal.SIGKILL,):
        for pid in pids:
            os.kill(pid, number)
    for pid in pids:
        until(lambda pid=pid: not processes.is_alive(pid), what=f"the end of {pid}")


def borrowed(pid: int) -> list[str]:
    """The open files of a server, as /proc has them, that belong to its line to the fork server and to pairs that it may
    use again; never more than the limit allows."""
    seqpacket = {
        line.split()[6] for line in Path("/proc/net/unix").read_text().splitlines() if line.split()[4] == "0005"
    }
    sockets = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            if target.removeprefix("socket:[").rstrip("]") in seqpacket:
                sockets.append(target)
    assert len(sockets) <= 1 + 2 * fork_server_client.LENT_PAIRS, f"{len(sockets)} lines: {sockets}"
    return sockets
