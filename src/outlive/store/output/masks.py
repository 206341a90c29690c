"""Which bytes of a job's logs are values of masked variables.

The supervisor, which knows the values, finds them in the logs and writes their places into one file
for each log: `.mask0` for stdout, `.mask1` for stderr. A value itself is in no file of ours. Each
file begins with two numbers: up to where the log was searched, and the length of the longest value.
Pairs (start, stop) follow, sorted by start. All numbers have 8 bytes.

Every reader shows `*` in these places, and no byte that was not searched yet. A NUL stays: a character of UTF-16 is one `*`.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable

from outlive.core.record import Value
from outlive.store.atomic_file import NotOurs
from outlive.store.job_dir import MASKS, JobDir
from outlive.system import fds

_STARS = b"\0" + b"*" * 255  # for each byte
HEADER, PAIR = struct.Struct("<QQ"), struct.Struct("<QQ")


class Span(Value):
    """A secret: from `start` up to `stop`, and what is shown in its place."""

    start: int
    stop: int
    label: str


Find = Callable[[bytes, str], Iterable[Span]]  # in bytes, which will be decoded with that encoding


class Mask:
    """The masked places of one log. Close it after use."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def of(cls, job: JobDir, stream: int) -> Mask | None:
        """Return the places of one log, None if the job has no masked values. Without its file nothing of
        the log counts as searched. Errors: OSError."""
        if not job.has(MASKS[0]):
            return None
        try:
            return cls(job.open_file(MASKS[stream]))
        except (FileNotFoundError, NotOurs):
            return cls(fds.memory_file("mask", b""))

    @property
    def searched(self) -> int:
        """Up to where the log was searched. Read this before the log."""
        return self._header()[0]

    def applied(self, offset: int, data: bytes) -> bytes:
        """Return bytes of the log, which begin at `offset`, with the values masked."""
        longest = self._header()[1]
        stop = offset + len(data)
        pairs = range(max(0, os.fstat(self._fd).st_size - HEADER.size) // PAIR.size)
        first_inside = bisect_right(pairs, offset - longest, key=lambda index: self._pair(index)[0])
        masked = None
        for index in pairs[first_inside:]:
            first, behind = self._pair(index)
            if first >= stop:
                break
            first, behind = max(first, offset), min(behind, stop)
            if first < behind:
                masked = bytearray(data) if masked is None else masked
                place = slice(first - offset, behind - offset)
                masked[place] = data[place].translate(_STARS)
        return data if masked is None else bytes(masked)

    def _header(self) -> tuple[int, int]:
        searched, longest = HEADER.unpack(os.pread(self._fd, HEADER.size, 0).ljust(HEADER.size, b"\0"))
        return searched, longest

    def _pair(self, index: int) -> tuple[int, int]:
        data = os.pread(self._fd, PAIR.size, HEADER.size + index * PAIR.size)
        first, behind = PAIR.unpack(data.ljust(PAIR.size, b"\0"))
        return first, behind

    def close(self) -> None:
        os.close(self._fd)


def joined(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the places in order; those that overlap or touch become one."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(places):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(stop, found[-1][1])
        else:
            found.append((start, stop))
    return found
