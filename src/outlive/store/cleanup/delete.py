"""Deleting finished jobs, so that nothing that still writes is ever cut off."""

from __future__ import annotations

import contextlib
import os
import time

from outlive import limits
from outlive.core.ids import new_id
from outlive.store.cleanup.removal import remove_tree
from outlive.store.job_dir import JobDir, Locks
from outlive.store.pending_notices import forget_removed
from outlive.store.root import TEMPORARY, TRASH
from outlive.system import fault_points

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.store.root import Store


def delete(store: Store, job: JobDir) -> int:
    """Delete a job nobody holds; the bytes given back. Errors: BlockingIOError while somebody holds it, OSError.

    Locked first, renamed second: from then on no reader finds it, and what a killed gc leaves is deleted by the next.
    """
    locks: Locks | None = None
    try:
        with contextlib.suppress(FileNotFoundError):  # its lock file is gone: nobody can hold it
            locks = Locks(job)
        freed = job.disk_bytes()
        trash = f"{TRASH}{job.job_id}-{new_id()[-6:]}"
        os.rename(job.job_id, trash, src_dir_fd=store.fd, dst_dir_fd=store.fd)
        fault_points.at("delete_renamed")
        store.unmark_live(job.job_id)
        remove_tree(store.fd, trash)
    finally:
        if locks is not None:
            locks.close()
    return freed


def clean(store: Store, *, dry_run: bool) -> int:
    """Delete half-made directories that nobody holds any more, and half-deleted ones; how many."""
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
        found = os.stat(name, dir_fd=store.fd, follow_symlinks=False)
        if time.time() - found.st_mtime < limits.TMP_AGE_S:
            return False
        fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=store.fd)
    except OSError:
        return False
    with JobDir(store.path, name, fd) as job:
        try:
            return not job.is_supervised()
        except OSError:
            return True
