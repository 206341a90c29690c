"""Read the audit record backwards, the newest act first."""

from __future__ import annotations

import os
from collections.abc import Iterator

from outlive.core.members import parse_json
from outlive.parts.audit.record import BEGINNING, END, NAME, old_files
from outlive.system.fds import Closing

_BLOCK = 262_144


class Reader:
    """`unreadable`: lines that are no entries; they were cut by a full disk, or written by another
    program."""

    def __init__(self, directory: str) -> None:
        self.paths = [os.path.join(directory, name) for name in (NAME, *old_files(directory))]
        self.unreadable = 0
        self._ends: dict[str, dict[str, object]] = {}

    def entries(self) -> Iterator[dict[str, object]]:
        """Yield every entry. Errors: OSError."""
        for path in self.paths:
            for line in _lines(path):
                entry = self._entry(line)
                if entry is None:
                    continue
                if entry.get("verb") == END:
                    self._ends.setdefault(str(entry.get("job_id")), entry)
                yield entry

    def end_of(self, job_id: str) -> dict[str, object] | None:
        """Return the entry of a job's end, if it is newer than the entries read so far."""
        return self._ends.get(job_id)

    def _entry(self, line: bytes) -> dict[str, object] | None:
        if not line:
            return None
        # Behind the rest of a line that met a full disk
        cut = max((found.start() for found in BEGINNING.finditer(line)), default=0)
        try:
            entry = parse_json(line[cut:])
        except ValueError:
            entry = None
        whole = isinstance(entry, dict) and isinstance(entry.get("id"), str) and isinstance(entry.get("verb"), str)
        self.unreadable += (not whole) + (cut > 0)
        return entry if whole else None


def _lines(path: str) -> Iterator[bytes]:
    """Yield the lines of a file, the last one first. A file that is not there has none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return
    with Closing(fd):
        at, rest = os.fstat(fd).st_size, b""
        while at > 0:
            start = max(0, at - _BLOCK)
            first, *lines = (os.pread(fd, at - start, start) + rest).split(b"\n")
            yield from reversed(lines)
            at, rest = start, first
        yield rest
