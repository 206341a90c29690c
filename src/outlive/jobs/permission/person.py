"""Tell a person from a job. A person approves and denies, and takes the keyboard; no job does.

A job is known by its environment, its ancestors, its control group, and by the namespaces in which
it hides these. A process that was moved out of all of them is not known.
"""

from __future__ import annotations

import os
import pwd

from outlive.core.ids import is_id
from outlive.core.records import Definition, Namespaces
from outlive.errors import OutliveError
from outlive.jobs import lookup
from outlive.store.root import Store
from outlive.system import cgroup, process, tree

_GROUP = "outlive-"  # how the control groups of jobs begin: system/job_group.py and systemd.py
# Of the machine itself: from there nothing is hidden (linux/proc_ns.h)
_FIRST_PID, _FIRST_CGROUP = "pid:[4026531836]", "cgroup:[4026531835]"


def person(way: str) -> str:
    """Return the name of the person who answers by this way."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = f"uid {os.getuid()}"
    return f"{name} ({way})"


def require_person(store: Store | None = None, definition: Definition | None = None) -> None:
    """Raise denied inside a job: no job approves another one, nor itself. `definition`: of the job
    that is asked about."""
    if is_in_job():
        raise OutliveError(
            "denied",
            "this process belongs to a job, and a job neither approves nor denies",
            hint="A person does that in a terminal of their own.",
        )
    hidden = None if store is None else _hidden_in(store, definition)
    if hidden:
        raise OutliveError(
            "denied",
            f"this process is in another {hidden} namespace than a job of this root, so it may belong to that job; "
            "a job neither approves nor denies",
            hint="A person does that in a terminal on the machine itself, or where outlive runs.",
        )


def is_person(store: Store) -> bool:
    """Return whether `require_person` lets this process pass."""
    try:
        require_person(store)
    except OutliveError:
        return False
    return True


def is_in_job() -> bool:
    """Return whether this process belongs to a job, as its environment, an ancestor or its control
    group tells."""
    if tree.COOKIE in os.environ or _is_in_group_of_a_job():
        return True
    pid = os.getpid()
    while pid > 1:
        if tree.comm(pid) == tree.SUPERVISOR.encode() or tree.comm(pid).startswith(f"{tree.SUPERVISOR} ".encode()):
            return True
        if any(word.startswith(f"{tree.COOKIE}=".encode()) for word in tree.environment(pid)):
            return True
        pid = process.parent(pid) or 0
    return False


def _is_in_group_of_a_job() -> bool:
    names = {name for path in cgroup.paths().values() for name in path.split("/") if name.startswith(_GROUP)}
    return any(is_id(name.removeprefix(_GROUP).removesuffix(".scope")) for name in names)


def namespaces() -> Namespaces:
    """Return the namespaces of this process that can hide to which job it belongs."""
    return Namespaces(boot=process.boot_id(), pid=process.pid_namespace(), cgroup=cgroup.namespace())


def _hidden_in(store: Store, definition: Definition | None) -> str | None:
    """Return the kind of a namespace in which this process is, and neither that which asked about
    the job nor a job of this root; None if there is none.

    A job in a namespace that it made sees neither its supervisor nor its control group. Containers
    in which outlive itself runs have the same namespaces as their jobs.
    """
    mine = namespaces()
    if mine == Namespaces(boot=mine.boot, pid=_FIRST_PID, cgroup=_FIRST_CGROUP):
        return None
    others = _of_live_jobs(store)
    if definition is not None and definition.approval is not None and definition.approval.asker is not None:
        others.append(definition.approval.asker)
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
