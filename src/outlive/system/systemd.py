"""What systemd and container engines do with processes: the unit that a process is in, read from the path of its control
group, and whether the manager of a user stays after a logout."""

from __future__ import annotations

import os

from outlive.core.record import Value

# What kind of unit a process is in
SESSION, USER_UNIT, SERVICE, CONTAINER, SCOPE, NONE = "session", "user unit", "service", "container", "scope", "none"
_OWN_SCOPE = "outlive-"  # the names of the scopes that jobs get begin so

_ENGINES = ("docker", "libpod", "crio", "containerd", "lxc", "kubepods", "machine.slice", "garden", "nspawn")
_LINGER = "/var/lib/systemd/linger"
_RUNNING = "/run/systemd/system"  # sd_booted(3)


def is_init() -> bool:
    """Return whether systemd is the init of this machine."""
    return os.path.isdir(_RUNNING)


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


def lingers(user: str) -> bool:
    """Return whether the user's manager stays after the last logout (loginctl enable-linger)."""
    return os.path.exists(os.path.join(_LINGER, user))
