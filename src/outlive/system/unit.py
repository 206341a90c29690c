"""Which systemd unit or container a process is in, read from its control group; and so what ends it with others."""

from __future__ import annotations

import os

SESSION, USER_UNIT, SERVICE, CONTAINER, SCOPE, NONE = "session", "user unit", "service", "container", "scope", "none"
OWN_SCOPE = "outlive-"  # our own scopes begin so

_ENGINE = r"(docker|libpod|crio|containerd|lxc|kubepods|machine\.slice|garden|nspawn)"
_MARKS = ("/.dockerenv", "/run/.containerenv")


def own_scope(job_id: str) -> str:
    """The name of the scope that a job may have to itself."""
    return f"{OWN_SCOPE}{job_id}.scope"


class Place:
    """`kind` is one of the names above, `name` the unit ("session-3.scope"); "" if there is none."""

    __slots__ = ("kind", "name", "path")

    def __init__(self, kind: str, name: str, path: str) -> None:
        self.kind = kind
        self.name = name
        self.path = path


def place_of(path: str, *, contained: bool = False) -> Place:
    """What the control group `path` stands for. `contained`: is it known that this is a container?"""
    import re  # late: each supervisor loads this module, for the name of a scope

    units = [part for part in path.split("/") if part.endswith((".service", ".scope"))]
    name = units[-1] if units else ""
    if name.startswith(OWN_SCOPE) and name.endswith(".scope"):
        return Place(SCOPE, name, path)
    if re.search(_ENGINE, path) or (contained and not units):
        return Place(CONTAINER, name, path)
    if re.fullmatch(r"session-.+\.scope", name):
        return Place(SESSION, name, path)
    if any(re.fullmatch(r"user@\d+\.service", unit) for unit in units):
        return Place(USER_UNIT, name, path)
    if name.endswith(".service"):
        return Place(SERVICE, name, path)
    return Place(SCOPE if name else NONE, name, path)


def is_container() -> bool:
    """Is this a container? By the marks that engines leave."""
    if any(os.path.exists(mark) for mark in _MARKS):
        return True
    try:
        with open("/proc/1/environ", "rb") as file:
            return any(word.startswith(b"container=") for word in file.read().split(b"\0"))
    except OSError:
        return False
