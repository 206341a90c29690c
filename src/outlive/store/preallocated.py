"""A job's directory that was made before anybody knew which job it is for: a start need not wait until the file system
has found room for a dozen files. Who waits for a job anyway makes it; it travels, with its locks, to who starts one.
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

_BLANK_S = 1.0  # a pair that ends waits this long for a killed server to let go of a directory made ahead


class Blank:
    """`name` below the root, and open files: the directory, and the two that hold its locks."""

    def __init__(self, name: str, numbers: Sequence[int]) -> None:
        self.name = name
        self.fd, *self.locks = numbers

    @classmethod
    def made(cls, root: str) -> Blank:
        """Errors: OSError, store_unsafe; then nothing is left behind."""
        store = Store.existing(root)
        try:
            new = NewJob(store, new_id())
            assert new.locks is not None
            try:
                os.mkdir(SEEN, 0o700, dir_fd=new.dir.fd)  # a client starts the job, and its first answer is noted there
                for name in (META, *SPARES):
                    os.close(new.dir.open_file(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            except BaseException:
                new.discard()
                raise
            return cls(new.temporary, (new.dir.fd, *new.locks.fds))
        finally:
            store.close()

    def claimed(self, store: Store, job_id: str) -> NewJob | None:
        """It becomes the directory of this job; None if it is not, or no longer, in this root. It is used up either way."""
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
    """Was it not claimed yet?"""
    return os.path.isdir(os.path.join(root, name))


def discard(root: str, name: str) -> None:
    """Delete a blank that nobody will claim. One that somebody holds, who may be about to, stays; whoever was killed lets
    go of it in the next moment."""
    from outlive.store.cleanup.removal import remove_tree

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
