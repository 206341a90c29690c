"""Delete finished jobs, so that nothing that still writes is ever cut off, and sweep up what kills
left."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time

from outlive import limits
from outlive.store.atomic_file import NotOurs
from outlive.store.job_dir import JobDir, Locks
from outlive.store.pending_notices import forget_removed
from outlive.store.root import TEMPORARY, trash_name
from outlive.system import fault_points

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.store.root import Store

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW


def delete(store: Store, job: JobDir) -> int:
    """Delete a job that no process holds; return how many bytes that gave back. Errors:
    BlockingIOError while a process holds the job, OSError.

    The job is locked first and renamed second: from then on no reader finds it, and what a killed
    gc leaves is deleted by the next one.
    """
    locks: Locks | None = None
    try:
        # Without a lock file no process can hold it, nor if another kind of file is in its place
        with contextlib.suppress(FileNotFoundError, NotOurs):
            locks = Locks(job)
        freed = job.disk_bytes()
        trash = trash_name(job.job_id)
        os.rename(job.job_id, trash, src_dir_fd=store.fd, dst_dir_fd=store.fd)
        fault_points.at("delete_renamed")
        store.unmark_live(job.job_id)
        remove_tree(store.fd, trash)
    finally:
        if locks is not None:
            locks.close()
    return freed


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
        found = os.stat(name, dir_fd=store.fd, follow_symlinks=False)
        if time.time() - found.st_mtime < limits.TMP_AGE_S:
            return False
        fd = os.open(name, _DIRECTORY, dir_fd=store.fd)
    except OSError:
        return False
    with JobDir(store.path, name, fd) as job:
        try:
            return not job.is_supervised()
        except OSError:
            return True


# --- a directory and everything in it -------------------------------------------------------------


def remove_tree(parent_fd: int, name: str) -> bool:
    """Delete `name` below the directory behind `parent_fd`. Return False if it was not there.
    Errors: OSError.

    Links are removed, not followed. Everything goes through directory fds and stays on one device,
    so a path that is swapped for a link meanwhile changes nothing.
    """
    try:
        fd = os.open(name, _DIRECTORY, dir_fd=parent_fd)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):  # a file or a link
            raise
        os.unlink(name, dir_fd=parent_fd)
        return True
    try:
        _empty(fd, os.fstat(fd).st_dev)
    finally:
        os.close(fd)
    fault_points.at("delete_emptied")
    with contextlib.suppress(FileNotFoundError):
        os.rmdir(name, dir_fd=parent_fd)
    return True


def _empty(fd: int, device: int) -> None:
    """Delete everything in a directory. An entry that vanishes was deleted by another process at
    the same work."""
    for entry in os.listdir(fd):
        with contextlib.suppress(FileNotFoundError):
            _delete(fd, entry, device)


def _delete(fd: int, entry: str, device: int) -> None:
    found = os.stat(entry, dir_fd=fd, follow_symlinks=False)
    if not stat.S_ISDIR(found.st_mode):
        os.unlink(entry, dir_fd=fd)
        return
    if found.st_dev != device:
        raise OSError(f"{entry} is on another file system")
    inner = os.open(entry, _DIRECTORY, dir_fd=fd)
    try:
        _empty(inner, device)
    finally:
        os.close(inner)
    os.rmdir(entry, dir_fd=fd)
