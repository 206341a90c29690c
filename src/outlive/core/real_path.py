"""Where a path leads, and which links decide that."""

from __future__ import annotations

import os

_MOST_LINKS, _LONGEST = 40, 4_096  # the kernel follows no more, and takes no longer path (path_resolution(7))


def real_path(path: str) -> str:
    """Return a path without links, and without what is in it of `..`; one that the kernel does not follow as it is given.
    os.path.realpath(3) calls itself for each link, of which a job may have made any number. Errors: TypeError for no path,
    ValueError for one with a NUL."""
    place, _ = followed(path if os.path.isabs(path) else os.path.join(os.getcwd(), path))
    return os.path.abspath(path) if place is None else place


def followed(path: str) -> tuple[str | None, list[str]]:
    """Return where an absolute path leads, and the links on the way. None: the kernel does not follow it, because of too many
    links, as those of a circle, or of its length. Errors: ValueError for one with a NUL."""
    done, left = "/", path.split("/")[::-1]
    links: list[str] = []
    while left and len(links) <= _MOST_LINKS and len(path) < _LONGEST:
        name = left.pop()
        if name in ("", "."):
            continue
        if name == "..":
            done = os.path.dirname(done)
            continue
        here = os.path.join(done, name)
        try:
            target = os.readlink(here)
        except OSError:  # no link, or nothing
            done = here
            continue
        links.append(here)
        left += target.split("/")[::-1]
        done = "/" if target.startswith("/") else done
    return None if left else done, links
