"""Delete finished jobs, so that nothing that still writes is ever cut off, and sweep up what kills
left."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from outlive import limits
from outlive.store.atomic_file import NotOurs
from outlive.store.cleanup import surplus
from outlive.store.inbox import forget_removed
from outlive.store.job_dir import JobDir, Locks
from outlive.store.root import TEMPORARY, Store, remove_opened, remove_tree, trash_name
from outlive.system import fault_points
from outlive.system.fds import DIRECTORY


def delete(store: Store, job: JobDir, size: int | None = None, note: Callable[[int], None] | None = None) -> int:
    """Delete a job that no process holds; return how many bytes that gave back: `size`, if the
    caller has just measured it. Errors: BlockingIOError while a process holds the job, OSError.

    The job is locked first and renamed last: from then on no reader finds it, and what a killed gc
    leaves is deleted by the next one. `note` takes these bytes in between: a caller that does not
    find the job has to find the reason.
    """
    held = _held(job)
    try:
        freed = surplus.bytes_of_job(job) if size is None else size
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


def clean(store: Store, *, dry_run: bool) -> int:
    """Delete half-deleted directories, and half-made ones that no process holds any more. Return
    how many there were."""
    if not dry_run:
        forget_removed(store)
    count = 0
    for name in store.leftovers():
        if name.startswith(TEMPORARY) and not _abandoned(store, name):
            continue
        count += 1
        if not dry_run:
            try:
                remove_tree(store.fd, name)
            except OSError:
                count -= 1
    return count


def _abandoned(store: Store, name: str) -> bool:
    try:
        status = os.stat(name, dir_fd=store.fd, follow_symlinks=False)
        if time.time() - status.st_mtime < limits.TMP_AGE_S:
            return False
        fd = os.open(name, DIRECTORY, dir_fd=store.fd)
    except OSError:
        return False
    with JobDir(store.path, name, fd) as job:
        try:
            return not job.is_supervised()
        except OSError:
            return True
