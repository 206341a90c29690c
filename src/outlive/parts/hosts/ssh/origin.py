"""The name of a job root, by which other machines know whose jobs they have.

The name is a file in the root, made when the first job is started over SSH. A path would be no name:
where a disk is not mounted, an empty root stands in its place, which has none of the jobs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from outlive.core.ids import is_id, new_id
from outlive.system import fds

_NAME = ".origin"
_CHARS = 26


def name_of(root: str) -> str | None:
    """Return the name of a root, which is made if it has none; None if it cannot be."""
    path = os.path.join(root, _NAME)
    name = _read(path)
    if name is not None:
        return name
    half = f"{path}.{os.getpid()}.tmp"
    try:
        fd = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, new_id().encode())
            os.fsync(fd)
            os.link(half, path)
        except FileExistsError:  # another process was faster
            pass
        finally:
            os.close(fd)
            os.unlink(half)
    except OSError:
        return None
    return _read(path)


def _read(path: str) -> str | None:
    text = fds.content(path, _CHARS + 1).decode("ascii", "replace")
    return text if is_id(text) else None


def gone(root: str, job_ids: Iterable[str]) -> list[str]:
    """Return those of the jobs that the root has no longer."""
    return [job_id for job_id in job_ids if is_id(job_id) and not os.path.lexists(os.path.join(root, job_id))]
