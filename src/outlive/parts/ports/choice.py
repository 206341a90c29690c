"""Which port a job is given: that which its worktree had before, else a port that no other worktree has."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Collection, Iterator

from outlive.core.real_path import real_path

_REPOSITORY = ".git"  # a directory, or a file in another worktree (git-worktree(1))


def worktree(directory: str, exists: Callable[[str], bool] = os.path.lexists) -> str:
    """Return the root of the worktree that a directory is in; the directory itself if it is in none."""
    above = real_path(directory)
    while not exists(os.path.join(above, _REPOSITORY)):
        if above == "/":
            return real_path(directory)
        above = os.path.dirname(above)
    return above


def key_of(place: str, name: str) -> str:
    """Return by what a lease is known again: the worktree, and the name of the port."""
    return f"{zlib.crc32(os.fsencode(place)):08x} {name}"


def candidates(first: int, last: int, key: str, mine: Collection[int], others: Collection[int]) -> Iterator[int]:
    """Yield the ports of a range in the order in which a worktree tries them: those that it had before, those that none had,
    those that others had. Each begins where the key says, and goes up."""
    count = last - first + 1
    begin = zlib.crc32(key.encode()) % count
    whole = [first + (begin + at) % count for at in range(count)]
    yield from (port for port in whole if port in mine)
    yield from (port for port in whole if port not in mine and port not in others)
    yield from (port for port in whole if port not in mine and port in others)
