"""What systemd and container engines do with processes: the unit that a process is in, read from
the path of its control group, and what systemd-logind does at a logout (logind.conf(5)).
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from outlive.core.record import Value
from outlive.system.fds import content, listed

# What kind of unit a process is in
SESSION, USER_UNIT, SERVICE, CONTAINER, SCOPE, NONE = "session", "user unit", "service", "container", "scope", "none"
_OWN_SCOPE = "outlive-"  # the names of the scopes that jobs get begin so

_ENGINES = ("docker", "libpod", "crio", "containerd", "lxc", "kubepods", "machine.slice", "garden", "nspawn")
_MARKS = ("/.dockerenv", "/run/.containerenv")

# Earlier directories go before later ones: a drop-in there hides one of the same name here.
_PLACES = ("/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd", "/lib/systemd")
_LINGER = "/var/lib/systemd/linger"
_RUNNING = "/run/systemd/system"  # sd_booted(3)
_YES = frozenset({"1", "yes", "y", "true", "t", "on"})


def is_init() -> bool:
    """Return whether systemd is the init of this machine."""
    return os.path.isdir(_RUNNING)


# --- units ---------------------------------------------------------------------------------------------------------


def scope_of_job(job_id: str) -> str:
    """Return the name of the transient scope that a job may have to itself (systemd.scope(5))."""
    return f"{_OWN_SCOPE}{job_id}.scope"


class Unit(Value):
    """`kind` is one of the names above, `name` the unit's ("session-3.scope"), "" if there is none,
    `path` that of the control group."""

    kind: str
    name: str
    path: str

    def is_of_one_job(self) -> bool:
        """Return whether it is the scope of one job, which ends with the job's last process."""
        return self.name.startswith(_OWN_SCOPE)


def unit_of(path: str, *, contained: bool = False) -> Unit:
    """Return the unit whose control group is at `path`. `contained`: this is known to be a container."""
    units = [part for part in path.split("/") if part.endswith((".service", ".scope"))]
    name = units[-1] if units else ""
    if name.startswith(_OWN_SCOPE) and name.endswith(".scope"):
        return Unit(SCOPE, name, path)
    if any(engine in path for engine in _ENGINES) or (contained and not units):
        return Unit(CONTAINER, name, path)
    if name.startswith("session-") and name.endswith(".scope"):
        return Unit(SESSION, name, path)
    if any(unit.startswith("user@") and unit.endswith(".service") for unit in units):
        return Unit(USER_UNIT, name, path)
    if name.endswith(".service"):
        return Unit(SERVICE, name, path)
    return Unit(SCOPE if name else NONE, name, path)


def is_container() -> bool:
    """Return whether this is a container, by the marks that engines leave."""
    is_marked = any(os.path.exists(mark) for mark in _MARKS)
    return is_marked or any(word.startswith(b"container=") for word in content("/proc/1/environ").split(b"\0"))


# --- logouts -------------------------------------------------------------------------------------------------------


def logind_settings(places: tuple[str, ...] = _PLACES) -> dict[str, str]:
    """Return the keys of [Login] that are set. The main file comes first, then the drop-ins of all
    directories in the order of their names."""
    settings: dict[str, str] = {}
    for path in _logind_files(places):
        settings.update(_read_login_section(path))
    return settings


def _logind_files(places: tuple[str, ...]) -> Iterator[str]:
    yield from list(filter(os.path.exists, (os.path.join(place, "logind.conf") for place in places)))[:1]
    names: dict[str, str] = {}
    for place in places:
        folder = os.path.join(place, "logind.conf.d")
        for name in listed(folder):
            if name.endswith(".conf"):
                names.setdefault(name, os.path.join(folder, name))
    yield from (names[name] for name in sorted(names))


def _read_login_section(path: str) -> dict[str, str]:
    section, settings = "", {}
    for line in map(str.strip, content(path).decode("utf-8", "replace").splitlines()):
        if line.startswith("["):
            section = line.strip("[]")
        elif section == "Login" and "=" in line and line[0] not in "#;":
            key, _, value = line.partition("=")
            settings[key.strip()] = value.strip()
    return settings


def kills_processes_of(user: str, settings: dict[str, str]) -> bool:
    """Return whether the end of a login session of `user` ends all of its processes."""
    if settings.get("KillUserProcesses", "no").lower() not in _YES:
        return False
    spared = settings.get("KillExcludeUsers", "root").split()
    only = settings.get("KillOnlyUsers", "").split()
    return user not in spared and (not only or user in only)


def lingers(user: str) -> bool:
    """Return whether the user's manager stays after the last logout (loginctl enable-linger)."""
    return os.path.exists(os.path.join(_LINGER, user))
