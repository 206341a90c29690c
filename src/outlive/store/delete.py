"""Delete a finished job, so that nothing that still writes is ever cut off; and how much that gives back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress

from outlive.errors import OutliveError
from outlive.store.atomic_file import NotOurs
from outlive.store.job_dir import IO, SEEN, JobDir, Locks
from outlive.store.root import Store, remove_opened, trash_name
from outlive.system import fault_points
from outlive.system.fds import DIRECTORY, Closing


def delete(store: Store, job: JobDir, size: int | None = None, note: Callable[[int], None] | None = None) -> int:
    """Delete a job that no process holds; return how many bytes that gave back: `size`, if the
    caller has just measured it. Errors: BlockingIOError while a process holds the job, OSError.

    The job is locked first and renamed last: from then on no reader finds it, and what a killed gc
    leaves is deleted by the next one. `note` takes these bytes in between: a caller that does not
    find the job has to find the reason.
    """
    held = _held(job)
    try:
        freed = bytes_of_job(job) if size is None else size
        if note is not None:
            os.stat(job.job_id, dir_fd=store.fd, follow_symlinks=False)  # else another process has deleted it
            note(freed)
        trash = trash_name(job.job_id)
        os.rename(job.job_id, trash, src_dir_fd=store.fd, dst_dir_fd=store.fd)
        fault_points.at("delete_renamed")
        job.unmark_live()
        remove_opened(store.fd, trash, job.fd)
    finally:
        if held is not None:
            held.close()
    return freed


def _held(job: JobDir) -> Locks | None:
    """Return the locks of the job; None without a lock file, or with another kind of file in its place,
    which no process can hold. Errors: BlockingIOError, OSError."""
    try:
        return Locks(job)
    except (FileNotFoundError, NotOurs):
        return None


# --- how much of the disk jobs take ---


def bytes_of_job(job: JobDir) -> int:
    """Return how many bytes deleting the directory of a job gives back. Errors: OSError."""
    total, inner = _bytes_in(job.fd)
    for name in inner:
        if name in (IO, SEEN):
            try:
                fd = os.open(name, DIRECTORY, dir_fd=job.fd)
            except OSError:
                continue
            with Closing(fd):
                total += _bytes_in(fd)[0]
    return total


def bytes_of_jobs(path: str, root: int, ids: Iterable[str]) -> int:
    """Return how many bytes deleting all of these jobs would give back."""
    total = 0
    for job_id in ids:
        with suppress(OSError, OutliveError):  # a link, or deleted meanwhile
            fd = os.open(job_id, DIRECTORY, dir_fd=root)
            with JobDir(path, job_id, fd) as job:
                total += bytes_of_job(job)
    return total


def _bytes_in(fd: int) -> tuple[int, list[str]]:
    """Return the bytes that what is in a directory takes, and the names of the directories in it."""
    total, inner = 0, []
    with os.scandir(fd) as entries:
        for entry in entries:
            try:
                total += entry.stat(follow_symlinks=False).st_blocks * 512
            except FileNotFoundError:  # its supervisor has renamed it meanwhile
                continue
            if entry.is_dir(follow_symlinks=False):
                inner.append(entry.name)
    return total, inner
