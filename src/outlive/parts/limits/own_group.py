"""The control group of a job with limits: made, limited and entered.

Its supervisor stays outside: what a limit ends is the job alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from outlive.core.records import OwnControlGroup
from outlive.system import cgroup, systemd
from outlive.system.fds import Closing
from outlive.system.job_group import ACCOUNTING, CPU, MEMORY, JobGroup, group_at, words_in
from outlive.system.process import namespace

PIDS = "pids"
CONTROLLERS = (MEMORY, PIDS, CPU)
OF_RESOURCES = {"memory": MEMORY, "processes": PIDS, "cpus": CPU}  # the controllers that limit them
_PERIOD_US = 100_000
_LEAST_QUOTA_US = 1_000
_KEPT = "outlive-supervisor"  # the group in which the processes of outlive stay in a scope


def needs_scope(asked: Iterable[str]) -> bool:
    """Return whether the limits of a job need a group that only systemd can make."""
    mine = cgroup.paths()
    wanted = [controller for name, controller in OF_RESOURCES.items() if name in set(asked)]
    if "" not in mine or not any(controller not in mine for controller in wanted) or not systemd.is_init():
        return False
    return os.geteuid() == 0 or os.path.exists(f"/run/user/{os.geteuid()}/systemd/private")


class NoGroup(Exception):
    """No group can be made here. The text is one clause that says why."""


class LimitedGroup(JobGroup):
    """A group whose limits can be set."""

    def record(self) -> OwnControlGroup:
        return OwnControlGroup(ns=namespace("cgroup"), places=dict(self.places))

    def has(self, controller: str) -> bool:
        return controller in self.places

    def limit_memory(self, count: int, *, as_one: bool) -> None:
        """Let the kernel end processes of the group that take more together. `as_one`: it ends all
        of them, where it can. Errors: OSError."""
        place = self.places[MEMORY]
        _write(place, ("memory.max", "memory.limit_in_bytes"), str(count))
        for name, text in (
            ("memory.swap.max", "0"),
            ("memory.memsw.limit_in_bytes", str(count)),
            ("memory.oom.group", "1" if as_one else "0"),
        ):
            if os.path.exists(os.path.join(place, name)):  # else there is no swap to count, or an older kernel
                _write(place, (name,), text)

    def limit_processes(self, count: int) -> None:
        """Let fork(2) fail in the group while it has so many processes. Errors: OSError."""
        _write(self.places[PIDS], ("pids.max",), str(count))

    def limit_cpus(self, count: float) -> None:
        """Give the group at most the time of so many processors. Errors: OSError."""
        place, quota = self.places[CPU], max(_LEAST_QUOTA_US, round(count * _PERIOD_US))
        if os.path.exists(os.path.join(place, "cpu.max")):
            _write(place, ("cpu.max",), f"{quota} {_PERIOD_US}")
        else:
            _write(place, ("cpu.cfs_period_us",), str(_PERIOD_US))
            _write(place, ("cpu.cfs_quota_us",), str(quota))

    def enter(self) -> None:
        """Move the calling process, which has one thread, into the group. Errors: OSError."""
        for place in dict.fromkeys(self.places.values()):
            _write(place, ("cgroup.procs",), "0")

    def refused_forks(self) -> int:
        """Return how often a process was refused because there were too many."""
        return group_at(self.places.get(PIDS, "")).table("pids.events").get("max", 0)


def made(job_id: str, wanted: Iterable[str]) -> LimitedGroup:
    """Make a group for a job, with as many of these controllers as can be had. Errors: NoGroup."""
    mine = cgroup.paths()
    if not mine:
        raise NoGroup("this system has no control groups")
    places: dict[str, str] = {}
    reasons: list[str] = []
    for controller in (*wanted, ACCOUNTING):
        if controller in mine:  # a hierarchy of version 1
            place = _made_below(cgroup.directory(controller, mine[controller]), job_id, reasons)
            if place is not None:
                places[controller] = place
    left = [controller for controller in wanted if controller not in mine]
    if left and "" in mine:
        _add_of_version_2(places, mine[""], job_id, left, reasons)
    if not {*places} - {ACCOUNTING}:
        LimitedGroup(places).remove()
        raise NoGroup(reasons[0] if reasons else "no control group is delegated to this user")
    group = LimitedGroup(places)
    _try(group)
    return group


def _try(group: LimitedGroup) -> None:
    """Go into the group and come back, so that a command can. Errors: NoGroup."""
    home = cgroup.paths()
    try:
        group.enter()
        for controller in group.record().places:
            kind = controller if controller in home else ""
            back = cgroup.directory(kind, home[kind])
            if back is not None:
                _write(back, ("cgroup.procs",), "0")
    except OSError as error:
        group.remove()
        raise NoGroup(f"a process may not be moved into a control group ({error.strerror})") from None


def _made_below(parent: str | None, job_id: str, reasons: list[str]) -> str | None:
    """Make and return the group of a job below `parent`; None, with a reason more, if it cannot be."""
    if parent is None:
        reasons.append("its control group cannot be seen from here")
        return None
    place = os.path.join(parent, f"outlive-{job_id}")
    try:
        os.mkdir(place)
    except FileExistsError:  # a supervisor that was killed made it
        return place
    except OSError as error:
        reasons.append(f"no control group is delegated to this user ({error.strerror})")
        return None
    return place


def _add_of_version_2(places: dict[str, str], path: str, job_id: str, wanted: list[str], reasons: list[str]) -> None:
    own = cgroup.directory("", path)
    if own is None:
        reasons.append("its control group cannot be seen from here")
        return
    parent = _scope_of_its_own(own, path, job_id)
    if parent is None and systemd.is_init():
        reasons.append("systemd delegates no control group here, and made no scope for the job")
        return
    parent = parent or _holder(own, path, wanted, reasons)
    if parent is None:
        return
    there = _enabled(parent, wanted)
    place = _made_below(parent, job_id, reasons) if there else None
    if place is None:
        reasons.append(f"the control group {parent} passes on none of {', '.join(wanted)}")
        return
    places |= {**dict.fromkeys(there, place), "": place}


def _scope_of_its_own(own: str, path: str, job_id: str) -> str | None:
    """Return the group of the systemd scope that was made for this job, emptied for its groups: a
    group with processes passes no controller on."""
    if not path.rstrip("/").endswith(f"/{systemd.scope_of_job(job_id)}"):
        return None
    kept = os.path.join(own, _KEPT)
    try:
        os.makedirs(kept, exist_ok=True)
        for pid in cgroup.Group(own, path, 2).pids():
            with suppress(ProcessLookupError):
                _write(kept, ("cgroup.procs",), str(pid))
    except OSError:
        return None
    return own


def _holder(own: str, path: str, wanted: list[str], reasons: list[str]) -> str | None:
    """Return the nearest group, from this process's own upwards, in which this user may make groups
    and which can pass on some of these controllers."""
    place = own
    for _ in range(path.rstrip("/").count("/") + 1):
        if os.access(place, os.W_OK) and os.access(os.path.join(place, "cgroup.procs"), os.W_OK):
            if _enabled(place, wanted):
                return place
        place = os.path.dirname(place)
    reasons.append("no control group is delegated to this user")
    return None


def _enabled(place: str, wanted: list[str]) -> list[str]:
    """Return those of the controllers that groups below `place` have, after enabling what can be."""
    there = words_in(place, "cgroup.controllers")
    for controller in wanted:
        if controller in there and controller not in words_in(place, "cgroup.subtree_control"):
            try:
                _write(place, ("cgroup.subtree_control",), f"+{controller}")
            except OSError:  # it has processes
                continue
    return [controller for controller in wanted if controller in words_in(place, "cgroup.subtree_control")]


def _write(place: str, names: tuple[str, ...], text: str) -> None:
    """Write the first of these files that exists. Errors: OSError."""
    name = next((name for name in names if os.path.exists(os.path.join(place, name))), names[0])
    with Closing(os.open(os.path.join(place, name), os.O_WRONLY | os.O_CLOEXEC)) as fd:
        os.write(fd, text.encode())
