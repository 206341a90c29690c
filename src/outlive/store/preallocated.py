"""Job directories that are made before it is known which job they are for, so that a start need not
wait until the file system has found room for a dozen files.

An idle pair makes the directory, and sends it with its locks to the server, which starts the next
job in it.
"""

from __future__ import annotations

import os
import time

from outlive import limits
from outlive.core.ids import new_id
from outlive.errors import OutliveError
from outlive.store.job_dir import META, SEEN, SPARES, JobDir, Locks
from outlive.store.new_job import NewJob
from outlive.store.root import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# a pair that ends waits this long for a killed server to let go of a directory made ahead
_BLANK_S = 1.0


class PreallocatedJob:
    """A preallocated directory: its `name` below the root, and fds of the directory and of its two
    locks."""

    def __init__(self, name: str, numbers: Sequence[int]) -> None:
        self.name = name
        self.fd, *self.locks = numbers

    @classmethod
    def made(cls, root: str) -> PreallocatedJob:
        """Make one below `root`. Errors: OSError, store_unsafe; then nothing is left behind."""
        store = Store.existing(root)
        try:
            new = NewJob(store, new_id())
            assert new.locks is not None
            try:
                # Where the client's first answer will be noted
                os.mkdir(SEEN, 0o700, dir_fd=new.dir.fd)
                for name in (META, *SPARES):
                    os.close(new.dir.open_file(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            except BaseException:
                new.discard()
                raise
            return cls(new.temporary, (new.dir.fd, *new.locks.fds))
        finally:
            store.close()

    def claimed(self, store: Store, job_id: str) -> NewJob | None:
        """Return it as the directory of this job; None if it is not, or no longer, in
        this root. Either way this object is used up."""
        try:
            here, there = os.fstat(self.fd), os.stat(self.name, dir_fd=store.fd, follow_symlinks=False)
        except OSError:
            self.close()
            return None
        if not os.path.samestat(here, there):
            self.close()
            return None
        return NewJob.of(store, self.name, JobDir(store.path, job_id, self.fd), Locks.of(self.locks))

    def close(self) -> None:
        for fd in (self.fd, *self.locks):
            os.close(fd)


def is_there(root: str, name: str) -> bool:
    """Return whether the directory has not been claimed yet."""
    return os.path.isdir(os.path.join(root, name))


def discard(root: str, name: str) -> None:
    """Delete a preallocated directory that no server will claim.

    While another process holds it, that process may be about to claim it: then wait for up to
    BLANK_S, because a server that was killed releases its locks in the next moment, and leave the
    directory if it is still held.
    """
    from outlive.store.cleanup.delete import remove_tree

    until = time.monotonic() + _BLANK_S
    try:
        store = Store.existing(root)
        with JobDir(root, name, os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=store.fd)) as job:
            while True:
                try:
                    locks = Locks(job)
                    break
                except BlockingIOError:
                    if time.monotonic() >= until or not is_there(root, name):
                        return
                    time.sleep(limits.SWEEP_INTERVAL_S)
        remove_tree(store.fd, name)  # by its name, which is no longer there if it was claimed
        locks.close()
    except (OSError, OutliveError):
        return
