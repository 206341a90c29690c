"""What gc deleted, and why, and which jobs another session or a person removed: `.deleted`, a
line of JSON for each job.

A client may come back for a job that is gone. It is told when the job was deleted and for which
bound, or by whom, and `doctor` says what was deleted of late. A file that is full becomes
`.deleted.1`.
"""

from __future__ import annotations

import _thread
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from outlive.core.ids import is_id_part
from outlive.core.members import parse_json
from outlive.core.units import timestamp
from outlive.store import atomic_file
from outlive.store.root import Store
from outlive.system import locks

REMOVED = "remove"  # in the place of a bound: a caller removed the job
DELETED, OLDER = ".deleted", ".deleted.1"
_MOST_BYTES = 512 * 1024  # of one file: 4,000 jobs
_BYTE = 0  # of a full file: locked by the process that renames it


class Deletions:
    """Writes down which jobs were deleted. `by`: gc, automatic, or the caller who removed them.
    `noting`: each is called with the path of the root, the id and the bound of each job, and notes it
    elsewhere. A context manager."""

    def __init__(self, store: Store, by: str, noting: Sequence[Callable[[str, str, str], None]] = ()) -> None:
        self._store = store
        self._by = by
        self._noting = noting
        self._fd = -1
        self._held = b""  # what did not fit on a full disk, where a deletion makes room
        self._appending = _thread.allocate_lock()  # see fds.py

    def __enter__(self) -> Deletions:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._append(b"")
        if self._fd >= 0:
            os.close(self._fd)

    def note(self, job_id: str, scope: str | None, bound: str, freed: int, **more: str) -> None:
        """Write down that a job is deleted because of a bound, which gives back `freed` bytes, with
        `more` members. Any thread may call this. Never raises: the job is deleted all the same."""
        entry = {"job_id": job_id, "at": timestamp(), "by": self._by, "bound": bound, "bytes": freed, "scope": scope}
        entry |= more
        with self._appending, suppress(OSError):  # full, or another kind of file in its place
            self._append(json.dumps(entry).encode() + b"\n")
        for note_elsewhere in self._noting:
            note_elsewhere(self._store.path, job_id, bound)

    def _append(self, line: bytes) -> None:
        """Append with one write(2), since several processes may be at it, and what is held with it."""
        self._held += line
        if not self._held:
            return
        if self._fd < 0:
            self._fd = self._opened()
            if os.fstat(self._fd).st_size > _MOST_BYTES:
                self._rotate()
                os.close(self._fd)
                self._fd = -1
                self._fd = self._opened()
        if os.write(self._fd, self._held) == len(self._held):
            self._held = b""
        else:  # the part of it that was written ends here, and readers pass over it
            self._held = b"\n" + self._held

    def _rotate(self) -> None:
        """Rename the full file, unless another process does so: the new file of that process would
        replace the full one."""
        if not locks.take(self._fd, _BYTE):
            return
        try:
            named = os.stat(DELETED, dir_fd=self._store.fd, follow_symlinks=False)
        except FileNotFoundError:  # renamed just now
            return
        if os.path.samestat(named, os.fstat(self._fd)):
            os.replace(DELETED, OLDER, src_dir_fd=self._store.fd, dst_dir_fd=self._store.fd)

    def _opened(self) -> int:
        return atomic_file.open_regular(self._store.fd, DELETED, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def entries(store: Store) -> Iterator[dict[str, Any]]:
    """Yield what was written down, the newest first. Errors of reading end it."""
    for name in (DELETED, OLDER):
        try:
            lines = atomic_file.read(store.fd, name).splitlines()
        except OSError:
            continue
        for line in reversed(lines):
            try:
                entry = parse_json(line)
            except ValueError:  # cut by a full disk
                continue
            if isinstance(entry, dict) and {"job_id", "at", "by", "bound", "bytes"} <= entry.keys():
                yield entry


def find(store: Store, text: str, wall: str | None) -> dict[str, object] | None:
    """Return the entry of the job that `text` names, by its id or by a part of that; None also for
    a job behind the wall."""
    wanted = text.strip().upper()
    if not is_id_part(wanted):
        return None
    for entry in entries(store):
        job_id = str(entry["job_id"])
        if (job_id.startswith(wanted) or job_id.endswith(wanted)) and wall in (None, entry.get("scope")):
            return entry
    return None
