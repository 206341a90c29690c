"""The limits of processes: open files, memory of pipes, memory, and the reaping of zombies."""

from __future__ import annotations

import os
import resource
import time

from outlive.core.units import size
from outlive.parts.finding import CheckContext, Finding, ok, warn
from outlive.system import cgroup, fds, oom, process, tree

_FEW_FILES = 256  # a server holds about two for each running job that a call waits for
_PIPE_PAGES = "/proc/sys/fs/pipe-user-pages-soft"
_PAGES_A_JOB = 32  # two pipes of 64 KiB (pipe(7))
_FEW_JOBS = 100
_REAPED_S = 1.0


def open_files(context: CheckContext) -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    facts = {"soft": _number(soft), "hard": _number(hard)}
    told = f"{_shown(soft)} of {_shown(hard)} in one process"
    if soft != resource.RLIM_INFINITY and soft < _FEW_FILES:
        advice = (
            f"A server with many calls at once may run out of them: raise the limit with `ulimit -n {_FEW_FILES * 4}`."
        )
        return warn(told, advice, **facts)
    return ok(told, **facts)


def _number(limit: int) -> int | None:
    return None if limit == resource.RLIM_INFINITY else limit


def _shown(limit: int) -> str:
    return "any number" if limit == resource.RLIM_INFINITY else f"{limit:,}"


def pipes(context: CheckContext) -> Finding:
    number = fds.content(_PIPE_PAGES).strip()
    if not number.isdigit():
        return ok("the kernel does not say how much memory the pipes of a user may take")
    pages = int(number)
    if os.geteuid() == 0 or pages == 0:
        return ok(f"pipes of this user are not limited (pipe-user-pages-soft {pages:,})", pages=pages)
    full = pages // _PAGES_A_JOB
    told = f"pipe-user-pages-soft {pages:,}: enough for {full:,} running jobs with pipes of full size"
    if full < _FEW_JOBS:
        return warn(told, f"With more jobs pipes are small and output is slow: raise {_PIPE_PAGES}.", pages=pages)
    return ok(told, pages=pages)


def memory(context: CheckContext) -> Finding:
    protected = _may_be_spared()
    scores = "supervisors can be spared" if protected else "supervisors are spared as much as their caller"
    scores += " when memory runs out"
    group = cgroup.memory()
    if group is None:
        return ok(f"no control group accounts for the memory of jobs; {scores}", limit_bytes=None, protected=protected)
    limit, kills, as_one = limit_of(group), group.oom_kills(), dies_as_one(group)
    facts = {
        "group": group.path,
        "limit_bytes": limit,
        "oom_kills": kills,
        "dies_as_one": as_one,
        "protected": protected,
    }
    told = f"limit of {group.path}: {size(limit) if limit else 'none'}; {scores}"
    told += f"; the kernel has ended {kills} of its processes so far" if kills else ""
    if as_one:
        advice = (
            "memory.oom.group is set: if one process takes too much memory, the kernel ends all of them, supervisors too. Give "
            "jobs groups of their own: [exec] systemd_scope = true."
        )
        return warn(told, advice, **facts)
    return ok(told, **facts)


def _may_be_spared() -> bool:
    """Return whether this process may lower its score. It is tried, and put back."""
    now = oom.score()
    if now is None or now <= -1000:
        return now is not None
    if not oom.set_score(now - 1):
        return False
    oom.set_score(now)
    return True


def limit_of(group: cgroup.Group) -> int | None:
    """Return the limit of a group in bytes; None if it has none (a group above may have one)."""
    text = group.read("memory.max" if group.version == 2 else "memory.limit_in_bytes")
    return int(text) if text.isdigit() and int(text) < 2**62 else None


def dies_as_one(group: cgroup.Group) -> bool:
    """Return whether the kernel ends all processes of a group when it ends one for lack of memory."""
    return group.version == 2 and group.read("memory.oom.group") == "1"


def zombies(context: CheckContext) -> Finding:
    """Check, with an orphan of our own, that the process that inherits orphans reaps them."""
    told, tell = os.pipe()
    gate, opener = os.pipe()
    middle = os.fork()
    if middle == 0:
        _leave_an_orphan(tell, gate, opener)
    for fd in (tell, gate):
        os.close(fd)
    os.waitpid(middle, 0)
    orphan = int(os.read(told, 32) or b"0")
    heir = process.parent(orphan)
    # the gate opens: the orphan ends, as a child of another process by now
    for fd in (told, opener):
        os.close(fd)
    return _judged(orphan, heir)


def _leave_an_orphan(tell: int, gate: int, opener: int) -> None:
    try:
        os.close(opener)
        orphan = os.fork()
        if orphan == 0:
            os.read(gate, 1)
        else:
            os.write(tell, b"%d" % orphan)
    finally:
        os._exit(0)


def _judged(orphan: int, heir: int | None) -> Finding:
    name = tree.comm(heir).decode("utf-8", "replace") if heir else ""
    who = f"process {heir}{f' ({name})' if name else ''}" if heir else "no process that can be seen"
    deadline = time.monotonic() + _REAPED_S
    while process.stat_fields(orphan) is not None:
        if time.monotonic() > deadline:
            advice = (
                "Put a small init in front of it (docker run --init, tini, shareProcessNamespace): supervisors reap what "
                "jobs leave, but not what is orphaned elsewhere, nor each other."
            )
            return warn(f"orphans go to {who}, which does not reap them", advice, heir=heir)
        time.sleep(0.005)
    return ok(f"orphans go to {who}, which reaps them", heir=heir)
