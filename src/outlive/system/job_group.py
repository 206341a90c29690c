"""A control group for the processes of one job, which a part made: read and removed.

Version 2 keeps all controllers in one directory, version 1 each in its own (cgroups(7)).
"""

from __future__ import annotations

import os
from typing import Self

from outlive.core.records import ControlGroups, OwnControlGroup
from outlive.system import cgroup
from outlive.system.process import namespace

MEMORY, CPU = "memory", "cpu"  # controllers
ACCOUNTING = "cpuacct"  # of version 1, where processor time has a hierarchy of its own


class JobGroup:
    """The group of a job. `places` maps a controller to its directory; "" is the directory that always
    exists, for the processes themselves."""

    def __init__(self, places: dict[str, str]) -> None:
        self.places = places

    @classmethod
    def of(cls, recorded: OwnControlGroup | None) -> Self | None:
        """Return the group of this record; None if it means nothing in this namespace."""
        if recorded is None or recorded.ns != namespace("cgroup"):
            return None
        return cls(dict(recorded.places))

    def pids(self) -> set[int]:
        """Return the processes in it, as far as this namespace knows them."""
        return {int(pid) for place in self.places.values() for pid in words_in(place, "cgroup.procs") if pid != "0"}

    def memory_group(self) -> cgroup.Group | None:
        """Return the group that accounts for its memory, at its path in its hierarchy."""
        place = self.places.get(MEMORY)
        if place is None:
            return None
        version = 2 if os.path.exists(os.path.join(place, "memory.max")) else 1
        mine = cgroup.paths()
        path = mine.get(MEMORY if version == 1 else "", "")
        home = cgroup.directory(MEMORY if version == 1 else "", path)
        # The group is below the group of this process, or below a group above that
        while home and not place.startswith(home.rstrip("/") + "/"):
            home, path = os.path.dirname(home), os.path.dirname(path)
        return cgroup.Group(place, os.path.join(path, os.path.relpath(place, home)), version) if home else None

    def with_memory(self, recorded: ControlGroups | None) -> ControlGroups | None:
        """Return a record of cgroup.record() with the memory of this group, in which nothing ran yet."""
        group = self.memory_group()
        if recorded is None or group is None:
            return recorded
        return ControlGroups.replace(recorded, memory=group.path, oom_kills=group.oom_kills())

    # --- what it uses ---

    def times_us(self) -> tuple[int, int] | None:
        """Return the user and system time of all processes it ever had; None if it is not told."""
        counters = group_at(self.places.get(CPU) or self.places.get("") or "").table("cpu.stat")
        if "user_usec" in counters:
            return counters["user_usec"], counters["system_usec"]
        place = self.places.get(ACCOUNTING, "")
        user, system = _number(place, "cpuacct.usage_user"), _number(place, "cpuacct.usage_sys")
        return None if user is None or system is None else (user // 1000, system // 1000)

    def peak_bytes(self) -> int | None:
        """Return the most memory that its processes had together; None if it is not told."""
        return self._memory("memory.peak", "memory.max_usage_in_bytes")

    def memory_bytes(self) -> int | None:
        return self._memory("memory.current", "memory.usage_in_bytes")

    def _memory(self, *names: str) -> int | None:
        values = (_number(self.places.get(MEMORY, ""), name) for name in names)
        return next((value for value in values if value is not None), None)

    # --- its end ---

    def remove(self) -> bool:
        """Remove the group. Return False while it has processes."""
        gone = True
        for place in dict.fromkeys(self.places.values()):
            try:
                os.rmdir(place)
            except FileNotFoundError:
                continue
            except OSError:
                gone = False
        return gone


def group_at(place: str) -> cgroup.Group:
    """Return a directory as a group; without one nothing can be read."""
    return cgroup.Group(place or os.devnull, "", 2)


def words_in(place: str, name: str) -> list[str]:
    """Return the words of a file of a group; none if it does not exist or may not be read."""
    return group_at(place).read(name).split()


def _number(place: str, name: str) -> int | None:
    text = group_at(place).read(name)
    return int(text) if text.isdigit() else None
