"""The settings of systemd-logind, which say whether a logout ends the processes of a user (logind.conf(5))."""

from __future__ import annotations

import os
from collections.abc import Iterator

from outlive.system.fds import content, listed

# Earlier directories go before later ones: a drop-in there hides one of the same name here.
_PLACES = ("/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd", "/lib/systemd")
_YES = frozenset({"1", "yes", "y", "true", "t", "on"})


def settings(places: tuple[str, ...] = _PLACES) -> dict[str, str]:
    """Return the keys of [Login] that are set. The main file comes first, then the drop-ins of all
    directories in the order of their names."""
    found: dict[str, str] = {}
    for path in _files(places):
        found.update(_login_section(path))
    return found


def _files(places: tuple[str, ...]) -> Iterator[str]:
    yield from list(filter(os.path.exists, (os.path.join(place, "logind.conf") for place in places)))[:1]
    names: dict[str, str] = {}
    for place in places:
        folder = os.path.join(place, "logind.conf.d")
        for name in listed(folder):
            if name.endswith(".conf"):
                names.setdefault(name, os.path.join(folder, name))
    yield from (names[name] for name in sorted(names))


def _login_section(path: str) -> dict[str, str]:
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
