"""What clients are still to be told: `.owed/<client>/<ULID>` under the root, made when a client starts a job, gone once
it knows how the job ended. The content is how many bytes of the job's history it was told of, and whether it was told of the
end: a job whose output is still searched for what is watched for may have more to tell.
"""

from __future__ import annotations

import os
import time

from outlive import limits
from outlive.core.ids import is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.store.root import Store

OWED = ".owed"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW


def mark_of(client: str) -> str:
    """A client's name as part of a file's name."""
    import hashlib

    return hashlib.sha256(client.encode("utf-8", "surrogateescape")).hexdigest()[:16]


class PendingNotices:
    """The list of one client. Losing an entry costs a notice, so nothing here fails a call."""

    def __init__(self, store: Store, client: str) -> None:
        self._store = store
        self._place = f"{OWED}/{mark_of(client)}"

    def add(self, job_id: str, spare: str | None = None) -> None:
        """`spare`: an empty file below the root that becomes the entry."""
        if spare is not None:
            try:
                os.rename(spare, f"{self._place}/{job_id}", src_dir_fd=self._store.fd, dst_dir_fd=self._store.fd)
            except OSError:  # there is no directory for it yet
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
        for place in (OWED, self._place):
            try:
                os.mkdir(place, 0o700, dir_fd=self._store.fd)
            except FileExistsError:
                continue
            except OSError:
                return

    def ids(self) -> list[str]:
        """The jobs that are owed, oldest first."""
        try:
            fd = os.open(
                self._place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=self._store.fd
            )
        except OSError:
            return []
        try:
            return sorted(filter(is_id, os.listdir(fd)))
        finally:
            os.close(fd)

    def told(self, job_id: str) -> tuple[int, bool]:
        """(how much of the job's history the client was told of, was it told of the end?)"""
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
        """Nothing more is owed; False if somebody else was faster, and tells it."""
        try:
            os.unlink(f"{self._place}/{job_id}", dir_fd=self._store.fd)
        except OSError:
            return False
        return True


def forget_removed(store: Store) -> None:
    """Drop what is owed about jobs that are gone: clients that never came back."""
    try:
        owed = os.open(OWED, _DIRECTORY, dir_fd=store.fd)
    except OSError:
        return
    try:
        known = set(store.ids())
        for client in os.listdir(owed):
            try:
                _forget(owed, client, known)
                os.rmdir(client, dir_fd=owed)  # only if it is empty
            except OSError:
                continue
    finally:
        os.close(owed)


def _forget(owed: int, client: str, known: set[str]) -> None:
    place = os.open(client, _DIRECTORY, dir_fd=owed)
    try:
        for name in filter(is_id, os.listdir(place)):
            made = os.stat(name, dir_fd=place, follow_symlinks=False).st_mtime
            if name not in known and time.time() - made > limits.TMP_AGE_S:  # not being made
                os.unlink(name, dir_fd=place)
    finally:
        os.close(place)
