"""Links on the way to a program that a job can change: what is there when it is looked at says nothing of what starts."""

from __future__ import annotations

import os
from collections.abc import Iterable

from outlive.parts.permission.policy.system_shells import is_kept
from outlive.system.paths import is_in

# Jobs of root can change links here too, and the programs with them: elsewhere none of root's is taken to be fixed
_OF_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr", "/etc", "/nix", "/run/current-system")


def changeable(links: Iterable[str], cwd: str) -> str | None:
    """Return the first of these links that a job of this user can change, None if there is none. `cwd`: where the job
    runs, which is its own, for root too."""
    return next((link for link in links if not is_fixed(link, cwd)), None)


def is_fixed(link: str, cwd: str) -> bool:
    """Return whether no job of this user can put something else in the place of a link, or of a file."""
    folder = os.path.dirname(link)
    if os.geteuid() == 0:
        if folder != "/" and not is_in(folder, _OF_SYSTEM):
            return False
        if cwd != "/" and is_in(link, [cwd]):
            return False
    while is_kept(folder):
        if folder == "/":
            return True
        folder = os.path.dirname(folder)
    return False
