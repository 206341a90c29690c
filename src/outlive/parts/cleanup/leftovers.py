"""What processes that were killed have left in the root: half-made and half-deleted directories, and notices of removed jobs."""

from __future__ import annotations

import os
import time

from outlive import limits
from outlive.store.inbox import forget_removed
from outlive.store.job_dir import JobDir
from outlive.store.root import TEMPORARY, Store, remove_tree
from outlive.system.fds import DIRECTORY


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
