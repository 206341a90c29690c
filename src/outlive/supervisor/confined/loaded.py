"""The part that confines jobs, which is loaded for a job with a sandbox before its command is spawned (large_code.py)."""

from __future__ import annotations

from outlive import parts
from outlive.supervisor.confined.confinement import Confinement, Unavailable


def confinement() -> Confinement:
    """Return what confines the command of a job. Errors: Unavailable if its part is not installed here: what was to be
    confined is not run."""
    found = if_there()
    if found is None:
        raise Unavailable(0, f"it needs {parts.not_there([parts.CONFINES])}")
    return found


def if_there() -> Confinement | None:
    """Return what confines the command of a job, which runs already; None without its part."""
    part = parts.confining()
    found: Confinement | None = None if part is None else part.CONFINEMENT
    return found
