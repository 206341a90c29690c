"""Which control groups a process is in, and what they say of memory. Both versions; files of text only (cgroups(7))."""

from __future__ import annotations

import os

_MOUNTS = "/proc/self/mountinfo"
_V2 = ""  # the name that stands for the one hierarchy of version 2


class Group:
    """One control group as a directory of files. `path` is its place in its hierarchy, as /proc/PID/cgroup has it."""

    __slots__ = ("directory", "path", "version")

    def __init__(self, directory: str, path: str, version: int) -> None:
        self.directory = directory
        self.path = path
        self.version = version

    def read(self, name: str) -> str | None:
        """The content of one of its files; None if there is none, or it may not be read."""
        try:
            with open(os.path.join(self.directory, name), "rb") as file:
                return file.read().decode("utf-8", "replace").strip()
        except OSError:
            return None

    def pids(self) -> list[int]:
        return [int(word) for word in (self.read("cgroup.procs") or "").split() if word.isdigit()]

    def oom_kills(self) -> int | None:
        """How many of its processes the kernel has ended for want of memory, its own limit or the machine's; None if it
        does not say. Each is counted before it gets its SIGKILL (mm/oom_kill.c)."""
        names = ("memory.events.local", "memory.events") if self.version == 2 else ("memory.oom_control",)
        for name in names:
            for line in (self.read(name) or "").splitlines():
                word, _, number = line.partition(" ")
                if word == "oom_kill" and number.isdigit():
                    return int(number)
        return None

    def memory_limit(self) -> int | None:
        """Bytes; None if there is none here (one above it may have one)."""
        text = self.read("memory.max" if self.version == 2 else "memory.limit_in_bytes") or ""
        return int(text) if text.isdigit() and int(text) < 2**62 else None

    def dies_as_one(self) -> bool:
        """Does the kernel end all of its processes when it ends one for want of memory?"""
        return self.version == 2 and self.read("memory.oom.group") == "1"


def paths(pid: int | str = "self") -> dict[str, str]:
    """Controller → path. "" is the hierarchy of version 2, "name=systemd" the one in which systemd keeps its units
    where version 1 is in use. Empty where there are no control groups."""
    try:
        with open(f"/proc/{pid}/cgroup", "rb") as file:
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return {}
    found: dict[str, str] = {}
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        found.update(dict.fromkeys(controllers.split(","), path))
    return found


def unit_path(pid: int | str = "self") -> str:
    """The path in which systemd and container engines put their names."""
    found = paths(pid)
    return found.get("name=systemd") or found.get(_V2) or ""


def memory(pid: int | str = "self") -> Group | None:
    """The group that accounts for the memory of a process; None where nothing does, or its files are not to be seen."""
    mine = paths(pid)
    for controller, kind, version in (("memory", "cgroup", 1), (_V2, "cgroup2", 2)):
        if controller not in mine:
            continue
        directory = _directory(kind, controller, mine[controller])
        if directory is not None and (version == 1 or os.path.exists(os.path.join(directory, "memory.events"))):
            return Group(directory, mine[controller], version)
    return None


def _directory(kind: str, controller: str, path: str) -> str | None:
    """Where the files of the group at `path` are. A mount may show a part of its hierarchy only (its root)."""
    for root, place, type_, options in _mounts():
        if type_ != kind or (controller and controller not in options):
            continue
        if path == root or path.startswith(root.rstrip("/") + "/"):
            found = os.path.join(place, path[len(root.rstrip("/")) :].lstrip("/"))
            if os.path.isdir(found):
                return found
    return None


def _mounts() -> list[tuple[str, str, str, list[str]]]:
    """(root, mount point, type, options of the file system) of each mount (proc_pid_mountinfo(5))."""
    try:
        with open(_MOUNTS, "rb") as file:
            lines = file.read().decode("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        left, _, right = line.partition(" - ")
        before, after = left.split(" "), right.split(" ")
        if len(before) > 4 and len(after) > 2:
            found.append((before[3], before[4], after[0], after[2].split(",")))
    return found
