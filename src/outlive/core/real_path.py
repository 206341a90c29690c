"""Where a path leads."""

from __future__ import annotations

import os


def real_path(path: str) -> str:
    """Return a path without links, as os.path.realpath(3) does, which calls itself for each of a chain of links. Of one that is
    too long for it, as a job may leave, the path as it is given: the kernel follows 40, and so no program gets there."""
    try:
        return os.path.realpath(path)
    except RecursionError:
        return os.path.abspath(path)
