"""Tell a person from a job. A person approves and denies, and takes the keyboard; no job does.

A job is known by its environment, its ancestors, its session, its control group, and by the
namespaces in which it hides these. What may have left all of them behind is a process without a
terminal that process 1 took over: it answers nothing on the command line, and gets no person's link.
A program that attacks can do more (a terminal of its own making, a client of its own): only a
sandbox keeps it from answering.
"""

from __future__ import annotations

import os

from outlive.core.ids import is_id
from outlive.core.records import Definition
from outlive.errors import OutliveError
from outlive.jobs import lookup
from outlive.parts.approvals import question_record
from outlive.parts.approvals.question_record import Namespaces
from outlive.store.root import Store
from outlive.system import cgroup, process, tree

_GROUP = "outlive-"  # how the control groups of jobs begin: parts/limits/own_group.py and system/systemd.py
# What takes over a process whose parent has ended, beside process 1: systemd for each user
_REAPERS = frozenset({b"systemd"})
# Of the machine itself: from there nothing is hidden (linux/proc_ns.h)
_FIRST_PID, _FIRST_CGROUP = "pid:[4026531836]", "cgroup:[4026531835]"


def require_person(store: Store, definition: Definition | None = None) -> None:
    """Raise denied inside a job: no job approves another one, nor itself. `definition`: of the job
    that is asked about."""
    if is_in_job():
        raise OutliveError(
            "denied",
            "this process belongs to a job, and a job neither approves nor denies",
            hint="A person does that in a terminal of their own.",
        )
    hidden = _hidden_in(store, definition, os.getpid())
    if hidden:
        raise OutliveError(
            "denied",
            f"this process is in another {hidden} namespace than a job of this root, so it may belong to that job; "
            "a job neither approves nor denies",
            hint="A person does that in a terminal on the machine itself, or where outlive runs.",
        )


def require_person_here(store: Store) -> None:
    """Raise denied unless a person may have started this process: as `require_person`, and for what a job may have left
    behind. Servers do not ask this about themselves: an application without a terminal starts them."""
    require_person(store)
    if _is_left_behind(store, os.getpid()):
        raise OutliveError(
            "denied",
            "this process has no terminal, and what started it has ended, so it may be what a job left behind; "
            "a job neither approves nor denies",
            hint="A person does that in a terminal, or on the page of `outlive ui`.",
        )


def is_person(store: Store) -> bool:
    """Return whether `require_person` lets this process pass."""
    return not (is_in_job() or _hidden_in(store, None, os.getpid()))


def is_person_at(store: Store, pid: int) -> bool:
    """Return whether a person may have started this process: what `require_person_here` asks, of any process. Nothing that
    it says of itself counts."""
    return not (is_in_job(pid) or _hidden_in(store, None, pid) or _is_left_behind(store, pid))


def is_in_job(pid: int | None = None) -> bool:
    """Return whether a process, by default this one, belongs to a job, as its environment, an ancestor, a process of its
    session or its control group tells. True of a process that is gone: nothing is known of it."""
    if pid is None and tree.COOKIE in os.environ:
        return True
    start = os.getpid() if pid is None else pid
    session = process.session(start)
    if session is None or _is_in_group_of_a_job(start):
        return True
    ancestors = _with_ancestors(start)
    # Nothing joins a session: all of them come from the process that made it
    members = [one for one in process.pids() if process.session(one) == session] if session else []
    return any(map(_is_keeper, ancestors)) or any(map(_has_cookie, {*ancestors, *members}))


def _with_ancestors(pid: int) -> list[int]:
    """Return a process and those above it, without process 1."""
    return [one for one in (pid, *process.ancestors(pid)) if one > 1]


def _is_keeper(pid: int) -> bool:
    name, keeper = tree.comm(pid), tree.SUPERVISOR.encode()
    return name == keeper or name.startswith(keeper + b" ")


def _has_cookie(pid: int) -> bool:
    return any(word.startswith(f"{tree.COOKIE}=".encode()) for word in tree.environment(pid))


def _is_in_group_of_a_job(pid: int) -> bool:
    names = {name for path in cgroup.paths(pid).values() for name in path.split("/") if name.startswith(_GROUP)}
    return any(is_id(name.removeprefix(_GROUP).removesuffix(".scope")) for name in names)


def _is_left_behind(store: Store, pid: int) -> bool:
    """Return whether a process may be what a job of this root left behind: it has no terminal, and it or an ancestor was
    taken over by process 1, or by systemd for its user, after a job started.

    A process that was not taken over but started there is in the session of that process (containers), or older than the
    jobs (services, the server of ssh), or another user's.
    """
    if process.terminal(pid):
        return False
    mine = os.getuid()
    taken = [one for one in _with_ancestors(pid) if _is_taken_over(one) and _user(one) in (mine, None)]
    if not taken:
        return False
    starts = [start for start in map(process.start_time, taken) if start is not None]
    return not starts or any(start <= max(starts) for start in lookup.starts_since_boot(store))


def _is_taken_over(pid: int) -> bool:
    above = process.parent(pid)
    if above is None:
        return True  # gone meanwhile
    if above != 1 and tree.comm(above) not in _REAPERS:
        return False
    return process.session(pid) != process.session(above)


def _user(pid: int) -> int | None:
    """Return the user of a process, None if it is gone."""
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def namespaces(pid: int | None = None) -> Namespaces:
    """Return the namespaces of a process, by default this one, that can hide to which job it belongs."""
    return Namespaces(
        boot=process.boot_id(), pid=process.namespace("pid", pid), cgroup=process.namespace("cgroup", pid)
    )


def _hidden_in(store: Store, definition: Definition | None, pid: int) -> str | None:
    """Return the kind of a namespace in which a process is, and neither that which asked about
    the job nor a job of this root; None if there is none.

    A job in a namespace that it made sees neither its supervisor nor its control group. Containers
    in which outlive itself runs have the same namespaces as their jobs.
    """
    mine = namespaces(pid)
    if mine == Namespaces(boot=mine.boot, pid=_FIRST_PID, cgroup=_FIRST_CGROUP):
        return None
    others = _of_live_jobs(store)
    asker = None if definition is None else question_record.of(definition).asker
    others += [] if asker is None else [asker]
    here = [other for other in others if other.boot == mine.boot]
    if mine.pid != _FIRST_PID and any(other.pid not in ("", mine.pid) for other in here):
        return "pid"
    if mine.cgroup != _FIRST_CGROUP and any(other.cgroup not in ("", mine.cgroup) for other in here):
        return "cgroup"
    return None


def _of_live_jobs(store: Store) -> list[Namespaces]:
    return [
        Namespaces(
            boot=state.identity.boot_id,
            pid=state.identity.pid_ns,
            cgroup="" if state.group is None else state.group.ns,
        )
        for state in lookup.live_states(store)
        if state.identity
    ]
