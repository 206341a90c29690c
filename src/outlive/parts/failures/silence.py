"""Say what a job that has been silent for some seconds is doing, and what to do if it stands still.

`sentence` turns facts into words, `advice_on` finds the facts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from outlive.answers import advice
from outlive.answers.advice import Advice
from outlive.core.record import Value
from outlive.core.units import duration
from outlive.errors import OutliveError
from outlive.jobs import processes
from outlive.jobs.control_client import ask
from outlive.parts.failures import foreground, person, pipe_ends
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.system import process, tree

_MOST_PROCESSES = 200
_POLLS = (foreground.FILES, foreground.THREADS, foreground.WAITING)
_ROOM_BYTES = 16_384  # with less, the end of a job that has no space reserved for it may find none
_FULL = (
    "Its command is not to be seen, and the disk under the job root is full: if it has ended, its end is stored as "
    "soon as there is room. Free some space."
)


class Keeper(Value):
    """A process that keeps another one waiting at a pipe (pipe_ends.py)."""

    name: str
    pid: int
    doing: str
    waits_for_it: bool = False  # it waits for a child, and what waits at the pipe is below it


class Silence(Value):
    names: Sequence[str]  # from the command down to the process in the foreground
    doing: str  # what that process does: a constant of foreground.py
    silent_ms: int
    pty: bool = False
    stdin: str = "closed"  # of the job, as in its definition
    cpu_s: float = 0.0  # of all its processes
    sockets: Sequence[foreground.Socket] = ()  # of the process in the foreground
    holder: str = ""  # of the lock that it waits for
    # Of the other end of the pipe that it waits at, then of the pipe that this one waits at, …; a process that
    # closes a circle stands there a second time
    keepers: Sequence[Keeper] = ()
    pid: int = 0
    buffers: bool = False  # it has printed nothing yet, and keeps its output back without a terminal
    batch: bool = False  # an option says that it needs no person
    keys: bool = False  # it looks for keys in its terminal, and takes them one by one


def sentence(facts: Silence) -> str:
    """Return what a silent job is doing, and what to do if it will not go on by itself."""
    told = f"Silent for {duration(facts.silent_ms // 1000 * 1000)}; in the foreground: {_shown(facts.names)}, which {_clause(facts)}."
    if facts.buffers:
        told += " Python keeps its output back if it has no terminal: start it with python -u to see it at once."
    return told


def _clause(facts: Silence) -> str:
    if facts.doing == foreground.STOPPED:
        return "is stopped by a signal: kill with signal CONT continues it"
    if facts.names[-1] in person.FULL_SCREEN:
        return _full_screen(facts)
    if facts.doing == foreground.COMPUTING:
        return f"is working ({facts.cpu_s:.0f} s of CPU so far)"
    if facts.doing == foreground.LOCK:
        return f"waits for a lock that {facts.holder or 'another process'} holds"
    if facts.keys and not serves_on(facts):
        return "waits for a key in its terminal: screen shows it, send-keys answers"
    if facts.doing in _POLLS and facts.sockets:
        return _network(facts.sockets, serves_on(facts))
    if facts.keepers:
        return _at_pipe(facts)
    return _PLAIN.get(facts.doing) or f"waits ({facts.cpu_s:.0f} s of CPU so far)"


_PLAIN = {
    foreground.STOPPED: "is stopped by a signal",
    foreground.COMPUTING: "is working",
    foreground.DISK: "waits for a disk or a network file system",
    foreground.TIMER: "sleeps until a timer ends",
    foreground.PIPE: "waits for data from a pipe",
    foreground.FULL_PIPE: "is blocked writing to a full pipe",
    foreground.FULL_SOCKET: "is blocked writing to a full socket, whose other end does not read",
    foreground.FIFO: "waits until another process opens the other end of a FIFO",
    foreground.CHILD: "waits for a child process to end",
    foreground.LOCK: "waits for a lock",
    foreground.THREADS: "waits for another thread or process of its own (a lock, a queue, an event): a deadlock, if none of them works",
    foreground.TERMINAL: "reads its terminal: answer with write or send-keys",
    foreground.FILES: "waits for a file, a socket or a timer",
}


def _at_pipe(facts: Silence) -> str:
    """Return which process does not read, or not write, at the other end of the pipe, and what that one does instead."""
    if [keeper.pid for keeper in facts.keepers] == [facts.pid]:
        return f"{_PLAIN[facts.doing]} of which it alone has the other end: a deadlock"
    said, doing, pids = "", facts.doing, [facts.pid]
    for keeper in facts.keepers:
        pids.append(keeper.pid)
        said += f"{_PLAIN[doing]} that {keeper.name} (pid {keeper.pid}) does not {'read' if doing == foreground.FULL_PIPE else 'write to'}"
        if keeper.pid in pids[:-1]:
            return f"{said}: a deadlock"
        doing = keeper.doing
        said += f"; pid {keeper.pid} "
    return said + _PLAIN.get(doing, "waits") + (": a deadlock" if is_deadlock(facts) else "")


def is_deadlock(facts: Silence) -> bool:
    """Return whether the processes at the pipes wait for each other."""
    pids = [facts.pid, *(keeper.pid for keeper in facts.keepers)]
    return bool(facts.keepers) and (facts.keepers[-1].waits_for_it or len({*pids}) < len(pids))


def _full_screen(facts: Silence) -> str:
    if facts.pty:
        return "fills the terminal: screen shows it, send-keys answers"
    stdin = "open, but is none" if facts.stdin == "open" else "closed" if facts.stdin == "closed" else "none"
    way = person.way_of(facts.names)
    instead = f"kill it and {way}, or start it with pty" if way else "kill it and start it with pty"
    return f"wants a terminal; its stdin is {stdin}: {instead}"


def serves_on(facts: Silence) -> list[int]:
    """Return the ports of a server that waits for its clients; none of a program that does something else."""
    waits = facts.doing in _POLLS and facts.names[-1] not in person.FULL_SCREEN
    return sorted({one.port for one in facts.sockets if one.state == foreground.LISTENING}) if waits else []


def _network(sockets: Sequence[foreground.Socket], ports: Sequence[int]) -> str:
    if ports:
        numbers = ", ".join(map(str, ports[:4]))
        return f"listens on port {numbers}: a server does not end by itself; use it, or kill it"
    calling = [one for one in sockets if one.state == foreground.CONNECTING]
    if calling:
        return f"tries to connect to {calling[0].peer} port {calling[0].port}, which has not answered"
    return f"waits for an answer from {sockets[0].peer} port {sockets[0].port}"


def of_person(inspection: Inspection, job: JobDir) -> str | None:
    """Return the sentence about a job without a terminal whose process in the foreground wants a person;
    None for others."""
    facts = _facts(inspection, job, 0, silent=False)
    if facts is None or facts.pty or facts.names[-1] not in person.FULL_SCREEN or facts.batch:
        return None
    waits = {foreground.FILES, foreground.TERMINAL, foreground.WAITING}
    if facts.names[-1] in person.EDITORS:
        waits.add(foreground.TIMER)  # vim looks again and again
    if facts.doing not in waits or facts.sockets:
        return None  # it works
    return f"In the foreground: {_shown(facts.names)}, which {_full_screen(facts)}."


def _shown(names: Sequence[str]) -> str:
    return " → ".join([*(name for name in names[:-1] if name not in person.STARTERS), names[-1]])


def advice_on(inspection: Inspection, job: JobDir, output: Output, silent_ms: int) -> list[Advice]:
    """Return what a running job does; nothing if its command cannot be seen from here."""
    facts = _facts(inspection, job, silent_ms, silent=not output.end)
    if facts is None:
        room = os.fstatvfs(job.fd)
        is_full = room.f_bavail * room.f_frsize < _ROOM_BYTES
        return advice.told(advice.SILENCE, _FULL) if is_full else []
    return advice.told(
        advice.SILENCE,
        sentence(facts),
        silent_ms=silent_ms,
        foreground=[*facts.names],
        listens_on=serves_on(facts) or None,
        deadlock=is_deadlock(facts) or None,
    )


def _facts(inspection: Inspection, job: JobDir, silent_ms: int, *, silent: bool) -> Silence | None:
    command = tree.running(inspection.state.identity)
    if command is None:
        return None
    members = [member.pid for member in processes.descendants(inspection, job)][:_MOST_PROCESSES]
    pids = foreground.chain(command.pid, members)
    if not pids:
        return None
    last = pids[-1]
    names = [_name(pid) for pid in pids]
    doing = foreground.activity(last)
    holder = foreground.lock_holder(last) if doing == foreground.LOCK else None
    keepers = _keepers(last, [command.pid, *members]) if doing in foreground.AT_PIPES else ()
    use = process.use_of({command.pid, *members}, whole=False)
    return Silence(
        names,
        doing,
        silent_ms=silent_ms,
        pty=inspection.definition.pty,
        stdin=inspection.definition.stdin,
        cpu_s=(use.user_us + use.system_us) / 1e6,
        sockets=foreground.sockets(last),
        holder=f"{_name(holder)} (pid {holder})" if holder else "",
        keepers=keepers,
        pid=last,
        buffers=silent
        and not inspection.definition.pty
        and names[-1].startswith("python")
        and not _is_unbuffered(last),
        keys=inspection.definition.pty and doing in _POLLS and _takes_keys(job, last),
        batch=not person.BATCH.isdisjoint(tree.command_line(last).split()),
    )


def _keepers(pid: int, members: Sequence[int]) -> list[Keeper]:
    above = process.ancestors(pid)
    keepers = []
    for other in pipe_ends.kept_waiting_by(pid, members):
        doing = foreground.activity(other)
        keepers.append(Keeper(_name(other), other, doing, doing == foreground.CHILD and other in above))
    return keepers


def _takes_keys(job: JobDir, pid: int) -> bool:
    """Return whether a process polls the job's terminal for single keys. Its supervisor knows, as an ancestor of it."""
    try:
        facts = ask(job, {"op": "terminal"})
    except OutliveError:
        return False
    polled_by = facts.get("polled_by")
    return facts.get("canonical") is False and isinstance(polled_by, list) and pid in polled_by


def _name(pid: int) -> str:
    """Return the name in the process table, without what could be taken for words of ours."""
    return re.sub(r"[^\w.+:@/-]+", " ", tree.comm(pid).decode("utf-8", "replace")).strip() or "?"


def _is_unbuffered(pid: int) -> bool:
    words = tree.command_line(pid).split()[1:]
    return any(word.startswith(b"PYTHONUNBUFFERED=") for word in tree.environment(pid)) or any(
        re.fullmatch(r"-[a-zA-Z]*u[a-zA-Z]*", word) for word in words[:4]
    )
