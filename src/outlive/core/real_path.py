"""Where a path leads."""

from __future__ import annotations

import os

_MOST_LINKS, _LONGEST = 40, 4_096  # the kernel follows no more, and takes no longer path (path_resolution(7))


def real_path(path: str) -> str:
    """Return a path without links, and without what is in it of `..`. Of one that leads nowhere, because of more links than
    the kernel follows or a length that it does not take, the path as it is given: a job may have left it, and
    os.path.realpath(3) calls itself for each link, and looks at each of any number of steps. Errors: TypeError for no path,
    ValueError for one with a NUL."""
    path = os.fspath(path)
    done, left, links = "/" if path.startswith("/") else os.getcwd(), path.split("/")[::-1], 0
    while left and links <= _MOST_LINKS and len(path) < _LONGEST:
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
        links += 1
        left += target.split("/")[::-1]
        done = "/" if target.startswith("/") else done
    return os.path.abspath(path) if left else done
