"""Which files no job can change: shells of the system, known by where they are and not by their name, and links on the
way to a program: what is there when a link that a job can change is looked at says nothing of what starts."""

from __future__ import annotations

import os
import stat

from outlive.core.real_path import real_path
from outlive.system.paths import is_in

# Jobs of root can change links here too, and the programs with them: elsewhere none of root's is taken to be fixed
_OF_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr", "/etc", "/nix", "/run/current-system")
_PLACES = frozenset({"/bin", "/usr/bin", "/usr/local/bin", "/run/current-system/sw/bin"})
_STORE = "/nix/store/"
_LISTED = "/etc/shells"  # shells(5)


def is_shell(program: str, path: str) -> bool:
    """Return whether this is a shell of the system, which no job can replace. `path`: the PATH that finds it."""
    file = program if os.sep in program else _first(program, path)
    if file is None or not os.path.isabs(file):
        return False
    place, real = os.path.normpath(file), real_path(file)
    known = os.path.dirname(place) in _PLACES or real.startswith(_STORE) or place in _listed()
    return known and all(map(_is_kept, (real, os.path.dirname(real), os.path.dirname(place))))


def _first(name: str, path: str) -> str | None:
    """Return the program that PATH finds first; None too where that depends on the current directory."""
    for directory in path.split(os.pathsep):
        if not os.path.isabs(directory):
            return None
        place = os.path.join(directory, name)
        if is_program(place):
            return place
    return None


def _listed() -> list[str]:
    try:
        with open(_LISTED, encoding="utf-8", errors="replace") as file:
            return [line.strip() for line in file if line.startswith("/")]
    except OSError:
        return []


def is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def is_fixed(link: str, cwd: str) -> bool:
    """Return whether no job of this user can put something else in the place of a link, or of a file. `cwd`: where the job
    runs, which is its own, for root too."""
    folder = os.path.dirname(link)
    if os.geteuid() == 0:
        if folder != "/" and not is_in(folder, _OF_SYSTEM):
            return False
        if cwd != "/" and is_in(link, [cwd]):
            return False
    while _is_kept(folder):
        if folder == "/":
            return True
        folder = os.path.dirname(folder)
    return False


def _is_kept(path: str) -> bool:
    """Return whether only the administrator can change a file or directory; if that is us, whether no one else can."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    if os.geteuid() == 0:
        return status.st_uid == 0 and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid != os.geteuid() and not os.access(path, os.W_OK)
