"""Notices that clients still have to get: `.owed/<client>/<ULID>` under the root.

The file is made when a client starts a job, and deleted once the client knows how the job ended. It
holds how many bytes of the job's history the client has been told of, and whether it has been told
of the end. (Watch hits may follow the end, because output is searched after it was stored.)
"""

from __future__ import annotations

import os
import time

from outlive import limits
from outlive.core.ids import is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.store.root import Store

PENDING = ".owed"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW


def mark_of(client: str) -> str:
    """Return a client's name in a form that can be part of a file name."""
    import hashlib

    return hashlib.sha256(client.encode("utf-8", "surrogateescape")).hexdigest()[:16]


class PendingNotices:
    """The jobs of one client. A lost entry costs no more than a notice, so nothing here makes a
    call fail."""

    def __init__(self, store: Store, client: str) -> None:
        self._store = store
        self._place = f"{PENDING}/{mark_of(client)}"

    def add(self, job_id: str, spare: str | None = None) -> None:
        """Add a job. `spare`: an empty file below the root that becomes the entry."""
        if spare is not None:
            try:
                os.rename(spare, f"{self._place}/{job_id}", src_dir_fd=self._store.fd, dst_dir_fd=self._store.fd)
            except OSError:  # the directory does not exist yet
                pass
        for _ in range(2):
            try:
                self._write(job_id, 0, os.O_CREAT)
                return
            except FileNotFoundError:
                self._make_place()
            except OSError:
                return

    def _make_place(self) -> None:
        for place in (PENDING, self._place):
            try:
                os.mkdir(place, 0o700, dir_fd=self._store.fd)
            except FileExistsError:
                continue
            except OSError:
                return

    def ids(self) -> list[str]:
        """Return the jobs with pending notices, oldest first."""
        try:
            fd = os.open(self._place, _DIRECTORY, dir_fd=self._store.fd)
        except OSError:
            return []
        try:
            return sorted(filter(is_id, os.listdir(fd)))
        finally:
            os.close(fd)

    def told(self, job_id: str) -> tuple[int, bool]:
        """Return how many bytes of the job's history the client was told of, and whether it was
        told of the end."""
        try:
            fd = os.open(f"{self._place}/{job_id}", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=self._store.fd)
        except OSError:
            return 0, False
        try:
            words = os.read(fd, 32).split()
            return int(words[0]), words[1:] == [b"1"]
        except (OSError, ValueError, IndexError):
            return 0, False
        finally:
            os.close(fd)

    def tell(self, job_id: str, told_bytes: int, *, end: bool) -> None:
        """Write down what the client has been told of, as `told` returns it."""
        try:
            self._write(job_id, told_bytes, 0, end=end)
        except OSError:
            return

    def _write(self, job_id: str, told_bytes: int, flags: int, *, end: bool = False) -> None:
        flags |= os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(f"{self._place}/{job_id}", flags, 0o600, dir_fd=self._store.fd)
        try:
            os.pwrite(fd, b"%020d %d\n" % (told_bytes, end), 0)
        finally:
            os.close(fd)

    def settle(self, job_id: str) -> bool:
        """Delete the entry. Return False if another process deleted it first: that one tells the
        client."""
        try:
            os.unlink(f"{self._place}/{job_id}", dir_fd=self._store.fd)
        except OSError:
            return False
        return True


def forget_removed(store: Store) -> None:
    """Delete the entries of jobs that no longer exist: their clients never came back."""
    try:
        pending = os.open(PENDING, _DIRECTORY, dir_fd=store.fd)
    except OSError:
        return
    try:
        known = set(store.ids())
        for client in os.listdir(pending):
            try:
                _forget(pending, client, known)
                os.rmdir(client, dir_fd=pending)  # succeeds only if it is empty
            except OSError:
                continue
    finally:
        os.close(pending)


def _forget(pending: int, client: str, known: set[str]) -> None:
    place = os.open(client, _DIRECTORY, dir_fd=pending)
    try:
        for name in filter(is_id, os.listdir(place)):
            made = os.stat(name, dir_fd=place, follow_symlinks=False).st_mtime
            # Else the job may be in the making
            if name not in known and time.time() - made > limits.TMP_AGE_S:
                os.unlink(name, dir_fd=place)
    finally:
        os.close(place)
