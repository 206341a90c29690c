"""Control groups, and what they say of memory: both versions, by their text files (cgroups(7))."""

from __future__ import annotations

import os

from outlive.core import records
from outlive.core.record import Value
from outlive.system import fds, mounts
from outlive.system.process import namespace

_V2 = ""  # the name that stands for the one hierarchy of version 2
_SYSTEMD = "name=systemd"
# Where nearly all systems mount the hierarchies: reading all mounts takes too long for the start of
# a command
_USUAL = {
    _V2: ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"),
    "memory": ("/sys/fs/cgroup/memory",),
    _SYSTEMD: ("/sys/fs/cgroup/systemd",),
}


_found: tuple[dict[str, str], records.ControlGroups, Group | None] | None = None  # by `record`: paths, groups


class Group(Value):
    """A directory of files. `path` is its place in its hierarchy, as /proc/PID/cgroup has it."""

    directory: str
    path: str
    version: int

    def read(self, name: str) -> str:
        """Return the content of one of its files; "" if it does not exist or may not be read."""
        return _text(f"{self.directory}/{name}").strip()

    def table(self, name: str) -> dict[str, int]:
        """Return the counters in one of its files, by their names."""
        pairs = (line.split() for line in self.read(name).splitlines())
        return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}

    def pids(self) -> list[int]:
        return [int(word) for word in self.read("cgroup.procs").split() if word.isdigit()]

    def oom_kills(self) -> int | None:
        """Return how many of its processes the kernel has ended for lack of memory; None if it does not say. Each is
        counted before it gets its SIGKILL (mm/oom_kill.c)."""
        names = ("memory.events.local", "memory.events") if self.version == 2 else ("memory.oom_control",)
        return next((table["oom_kill"] for table in map(self.table, names) if "oom_kill" in table), None)


def _text(path: str) -> str:
    return fds.content(path).decode("utf-8", "replace")


def paths(pid: int | None = None) -> dict[str, str]:
    """Return controller → path of a process, by default this one; empty without control groups. "" is the hierarchy of version 2,
    "name=systemd" that of the units of systemd where version 1 is in use."""
    by_controller: dict[str, str] = {}
    for line in _text(f"/proc/{'self' if pid is None else pid}/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        by_controller.update(dict.fromkeys(controllers.split(","), path))
    return by_controller


def unit_path() -> str:
    """Return the path in which systemd and container engines put the names of their units."""
    by_controller = paths()
    return by_controller.get(_naming(by_controller), "")


def _naming(by_controller: dict[str, str]) -> str:
    """Return the hierarchy in which units have names. Under systemd with version 1 both have the same path."""
    return _SYSTEMD if _V2 not in by_controller or by_controller.get(_SYSTEMD, "/") != "/" else _V2


def memory(mine: dict[str, str] | None = None) -> Group | None:
    """Return the group that accounts for the memory of a process with these paths, by default this
    process. None if no group does, or if its files cannot be seen from here."""
    mine = paths() if mine is None else mine
    for controller, version in (("memory", 1), (_V2, 2)):
        if controller not in mine:
            continue
        place = directory(controller, mine[controller])
        if place is not None and (version == 1 or os.path.exists(os.path.join(place, "memory.events"))):
            return Group(place, mine[controller], version)
    return None


def record() -> records.ControlGroups | None:
    """Return what a later call of `is_gone` or `oom_kills_since` needs to know about the groups of
    this process.

    `path` and `id` are of the group of its unit in `hierarchy`, and mean something in the namespace
    `ns`; `memory` and `oom_kills` are of the group that accounts for its memory.
    """
    global _found
    mine = paths()
    if not mine:
        return None
    # A group in which a process is cannot be removed: as long as the paths are the same, so are the
    # groups
    if _found is None or _found[0] != mine:
        controller, group = _naming(mine), memory(mine)
        known = records.ControlGroups(
            ns=namespace("cgroup"),
            hierarchy=controller,
            path=mine.get(controller, ""),
            id=_inode(directory(controller, mine.get(controller, ""))),
            memory=None if group is None else group.path,
        )
        _found = mine, known, group
    _, known, group = _found
    return records.ControlGroups.replace(known, oom_kills=None if group is None else group.oom_kills())


def is_gone(recorded: records.ControlGroups | None) -> bool:
    """Return whether the recorded group has ended or was made anew since; False where that cannot be told."""
    if recorded is None or not recorded.id or recorded.ns != namespace("cgroup"):
        return False
    if directory(recorded.hierarchy, "/") is None:  # a part of it only can be seen from here
        return False
    return _inode(directory(recorded.hierarchy, recorded.path)) != recorded.id


def oom_kills_since(recorded: records.ControlGroups | None) -> tuple[int, Group | None]:
    """Return (how many processes of the recorded group the kernel has ended for lack of memory
    since, the group); (0, None) where that cannot be told."""
    if recorded is None or recorded.oom_kills is None or recorded.ns != namespace("cgroup"):
        return 0, None
    group = memory(dict.fromkeys((name for name in ("memory", _V2) if name in paths()), str(recorded.memory)))
    now = None if group is None else group.oom_kills()
    return (0 if now is None else max(0, now - recorded.oom_kills)), group


def _inode(place: str | None) -> int | None:
    """Return the inode of a group, which differs after a group was removed and made again."""
    try:
        return None if place is None else os.stat(place).st_ino
    except OSError:
        return None


def directory(controller: str, path: str) -> str | None:
    """Return the directory of the group at `path`. A mount may show only a part of its hierarchy."""
    for place in _USUAL.get(controller, ()):
        directory = os.path.join(place, path.lstrip("/"))
        if os.path.exists(os.path.join(directory, "cgroup.procs")):
            return directory
    kind = "cgroup2" if controller == _V2 else "cgroup"
    for mount in mounts.mounts():
        if mount.type != kind or (controller and controller not in mount.options):
            continue
        root = mount.root.rstrip("/")
        if path == mount.root or path.startswith(root + "/"):
            directory = os.path.join(mount.point, path[len(root) :].lstrip("/"))
            if os.path.isdir(directory):
                return directory
    return None
