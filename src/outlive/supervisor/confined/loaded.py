"""The part that confines jobs, as it was when this process began: it is loaded before guardian and supervisor are forked,
since an update of outlive may replace its files at any time."""

from __future__ import annotations

from outlive import parts
from outlive.supervisor.confined.confinement import Confinement, Unavailable

_PART = parts.confining()


def confinement() -> Confinement:
    """Return what confines the command of a job. Errors: Unavailable if its part is not installed here: what was to be
    confined is not run."""
    found = if_there()
    if found is None:
        raise Unavailable(0, f"it needs {parts.not_there([parts.CONFINES])}")
    return found


def if_there() -> Confinement | None:
    """Return what confines the command of a job, which runs already; None without its part."""
    found: Confinement | None = None if _PART is None else _PART.CONFINEMENT
    return found
