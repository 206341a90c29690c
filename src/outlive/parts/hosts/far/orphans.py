"""Jobs here whose directory on the other machine was deleted by hand: no mirror will ever ask for
them again.

Only a mirror of the same job root can tell: each job has the name of that root in a file of its
directory. Deleted is what ended more than a day ago, has no process left, and is not in that root.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator

from outlive.core.ids import is_id
from outlive.core.units import seconds_or
from outlive.errors import OutliveError
from outlive.store import atomic_file, delete
from outlive.store.job_dir import JobDir
from outlive.store.root import Store
from outlive.system import fds

_ORIGIN = "origin"
_KEPT_S = 86_400
_NAME_BYTES = 64


def note(job: JobDir, origin: str | None) -> None:
    """Write down whose job this is. Errors: OSError."""
    if origin is None:
        return
    with fds.Closing(job.open_file(_ORIGIN, os.O_WRONLY | os.O_CREAT)) as fd:
        os.write(fd, origin.encode())


def candidates(store: Store, origin: str | None) -> list[str]:
    """Return the jobs of this origin that ended more than a day ago."""
    if origin is None:
        return []
    return [job.job_id for job in _ended(store, origin, filter(is_id, os.listdir(store.fd)))]


def drop(store: Store, origin: str | None, job_ids: Iterable[str]) -> None:
    """Delete these of the candidates."""
    if origin is None:
        return
    for job in _ended(store, origin, filter(is_id, job_ids)):
        try:
            delete.delete(store, job)
        except OSError:  # held just now, or another connection was faster
            continue


def _ended(store: Store, origin: str, job_ids: Iterable[str]) -> Iterator[JobDir]:
    for job_id in job_ids:
        try:
            with JobDir.open(store, job_id) as job:
                if _origin_of(job) == origin and _is_old(job):
                    yield job
        except (OSError, OutliveError):
            continue


def _is_old(job: JobDir) -> bool:
    state = job.read_state()
    if state is None or not state.finished or state.finished_at is None or job.is_supervised():
        return False
    now = time.time()
    return now - seconds_or(state.finished_at, now) > _KEPT_S


def _origin_of(job: JobDir) -> str:
    try:
        return atomic_file.read(job.fd, _ORIGIN, _NAME_BYTES).decode("ascii", "replace")
    except OSError:
        return ""
