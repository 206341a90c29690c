"""A job directory in the making: under a temporary name until it is complete."""

from __future__ import annotations

import os
from contextlib import suppress

from outlive.store.job_dir import LOCK, NEW, JobDir, Locks
from outlive.store.root import TEMPORARY, Store, remove_tree
from outlive.system import fault_points
from outlive.system.fds import DIRECTORY


class NewJob:
    """A job directory under a temporary name. Both of its locks are held before any reader can see
    it."""

    def __init__(self, store: Store, job_id: str) -> None:
        """Create it. Errors: OSError; nothing is left behind."""
        self.store = store
        self.job_id = job_id
        self.temporary = TEMPORARY + job_id
        self.locks: Locks | None = None
        os.mkdir(self.temporary, 0o700, dir_fd=store.fd)
        fault_points.at("make_directory")
        fd = -1
        try:
            fd = os.open(self.temporary, DIRECTORY, dir_fd=store.fd)
            self.dir = JobDir(store.path, job_id, fd)
            self.dir.secrets_of = store.secrets_of
            self.dir.make_io()
            self.locks = Locks(self.dir, os.open(LOCK, NEW | os.O_RDWR, 0o600, dir_fd=fd))
            fault_points.at("make_files")
        except BaseException:
            if fd >= 0:
                os.close(fd)
            remove_tree(store.fd, self.temporary)
            raise

    def publish(self) -> None:
        """Rename into place: from here on readers see the job."""
        os.rename(self.temporary, self.dir.job_id, src_dir_fd=self.store.fd, dst_dir_fd=self.store.fd)
        self.temporary = self.dir.job_id
        fault_points.at("make_visible")

    def discard(self) -> None:
        """Delete the directory, published or not. The locks go last: a guardian that waits for one
        must find it gone.

        A directory that cannot be deleted (too many open files, a broken disk) is inspected later:
        its job never ran.
        """
        self.dir.unmark_live()
        with suppress(OSError):
            remove_tree(self.store.fd, self.temporary)
        self.close()

    def close(self) -> None:
        if self.locks is not None:
            self.locks.close()
        self.dir.close()
