"""What systemd-logind does with what a user leaves running, from its configuration files (logind.conf(5))."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Earlier directories go before later ones: a drop-in there hides one of the same name here.
_PLACES = ("/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd", "/lib/systemd")
_LINGER = "/var/lib/systemd/linger"
_RUNNING = "/run/systemd/system"  # sd_booted(3)
_YES = frozenset({"1", "yes", "y", "true", "t", "on"})


def runs() -> bool:
    """Is systemd the init here?"""
    return os.path.isdir(_RUNNING)


def settings(places: tuple[str, ...] = _PLACES) -> dict[str, str]:
    """The keys of [Login] that are set. The main file first, then the drop-ins of all directories in the order of their
    names."""
    found: dict[str, str] = {}
    for path in _files(places):
        found.update(_read(path))
    return found


def _files(places: tuple[str, ...]) -> Iterator[str]:
    for place in places:
        main = os.path.join(place, "logind.conf")
        if os.path.exists(main):
            yield main
            break
    names: dict[str, str] = {}
    for place in places:
        folder = os.path.join(place, "logind.conf.d")
        try:
            listed = os.listdir(folder)
        except OSError:
            continue
        for name in listed:
            if name.endswith(".conf"):
                names.setdefault(name, os.path.join(folder, name))
    yield from (names[name] for name in sorted(names))


def _read(path: str) -> dict[str, str]:
    try:
        with open(path, "rb") as file:
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return {}
    section, found = "", {}
    for line in map(str.strip, lines):
        if line.startswith("["):
            section = line.strip("[]")
        elif section == "Login" and "=" in line and line[0] not in "#;":
            key, _, value = line.partition("=")
            found[key.strip()] = value.strip()
    return found


def kills_processes_of(user: str, found: dict[str, str]) -> bool:
    """Does the end of a login session of `user` end all of its processes, under these settings?"""
    if found.get("KillUserProcesses", "no").lower() not in _YES:
        return False
    spared = found.get("KillExcludeUsers", "root").split()
    only = found.get("KillOnlyUsers", "").split()
    return user not in spared and (not only or user in only)


def lingers(user: str) -> bool:
    """Does the user's own manager stay when nobody of that name is logged in (loginctl enable-linger)?"""
    return os.path.exists(os.path.join(_LINGER, user))
