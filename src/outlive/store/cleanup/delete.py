"""Delete finished jobs, so that nothing that still writes is ever cut off, and sweep up what kills
left."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable

from outlive import limits
from outlive.store.atomic_file import NotOurs
from outlive.store.cleanup import disk_use
from outlive.store.inbox import forget_removed
from outlive.store.job_dir import JobDir, Locks
from outlive.store.root import TEMPORARY, Store, trash_name
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
        freed = disk_use.of_job(job) if size is None else size
        if note is not None:
            os.stat(job.job_id, dir_fd=store.fd, follow_symlinks=False)  # else another process has deleted it
            note(freed)
        trash = trash_name(job.job_id)
        os.rename(job.job_id, trash, src_dir_fd=store.fd, dst_dir_fd=store.fd)
        fault_points.at("delete_renamed")
        job.unmark_live()
        _remove(store.fd, trash, job.fd)
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


# --- a directory and everything in it -------------------------------------------------------------


def remove_tree(parent_fd: int, name: str) -> bool:
    """Delete `name` below the directory behind `parent_fd`. Return False if it was not there.
    Errors: OSError.

    Links are removed, not followed. Everything goes through directory fds and stays on one device,
    so a path that is swapped for a link meanwhile changes nothing.
    """
    try:
        fd = os.open(name, DIRECTORY, dir_fd=parent_fd)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):  # a file or a link
            raise
        os.unlink(name, dir_fd=parent_fd)
        return True
    with Closing(fd):
        _remove(parent_fd, name, fd)
    return True


def _remove(parent_fd: int, name: str, fd: int) -> None:
    """Delete the directory behind `fd`, which is called `name`."""
    _empty(fd)
    fault_points.at("delete_emptied")
    with contextlib.suppress(FileNotFoundError):
        os.rmdir(name, dir_fd=parent_fd)


def _empty(fd: int) -> None:
    """Delete everything in a directory. An entry that vanishes was deleted by another process at
    the same work."""
    with os.scandir(fd) as listing:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]
    for name, is_directory in entries:
        with contextlib.suppress(FileNotFoundError):
            if is_directory:
                _delete_directory(fd, name)
            else:
                os.unlink(name, dir_fd=fd)


def _delete_directory(fd: int, name: str) -> None:
    with Closing(os.open(name, DIRECTORY, dir_fd=fd)) as inner:
        if os.fstat(inner).st_dev != os.fstat(fd).st_dev:
            raise OSError(f"{name} is on another file system")
        _empty(inner)
    os.rmdir(name, dir_fd=fd)
