"""Files in the writable directories that have another name elsewhere (hard links).

Package managers link what they install from a store that all projects share (uv, pnpm, conda). A job
that writes such a file changes it in the store and in every other project. So what has a name that
the job could not write is read-only for it.
"""

from __future__ import annotations

import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator

from outlive.parts.sandbox.confinement.mounts import pinned
from outlive.parts.sandbox.confinement.search import Unguarded
from outlive.parts.sandbox.confinement.visible_paths import is_in
from outlive.system import fds
from outlive.system.paths import is_missing, status_of

# What git knows by its name and by how it begins: an object, a pack with its version, and what lies beside one
_OBJECT = re.compile(r".*/\.git/objects/[0-9a-f]{2}/[0-9a-f]{38}([0-9a-f]{24})?")
_PACKED = re.compile(r".*/\.git/objects/(pack/pack-|pack/multi-pack-index|info/).*")
_KINDS = (b"blob ", b"tree ", b"commit ", b"tag ")  # how an object begins, inflated
_HEADERS = (
    *(b"PACK\0\0\0" + version for version in (b"\2", b"\3")),
    *(b"\xfftOc\0\0\0\2", b"RIDX\0\0\0\1", b"MIDX\1", b"MIDX\2", b"MTME\0\0\0\1", b"BITM\0\1", b"CGPH\1"),
)
Name = tuple[tuple[int, int], str]  # device and inode of a directory, and a name in it: a bind mount shows it twice
_MOST_MOUNTS = 100  # with more their directories are kept: each takes a quarter of a millisecond


def kept(roots: list[str], is_kept: Callable[[str], bool], shut: Callable[[str], None]) -> list[str]:
    """Return the files to be kept from a job because they have more names than it may write, or, of
    many, the directories that they lie in. `is_kept`: whether a directory is read-only for it
    anyway. `shut` is called for each directory that cannot be looked at, which a job could open. Errors: Unguarded."""
    names: dict[tuple[int, int], dict[str, Name]] = {}
    counts: dict[tuple[int, int], int] = {}
    for root in roots:
        for path, folder, status in _linked(root, is_kept, shut):
            key = status.st_dev, status.st_ino
            names.setdefault(key, {})[path] = folder, os.path.basename(path)
            counts[key] = status.st_nlink
    return _folded([path for key, by in names.items() if counts[key] > len({*by.values()}) for path in by], roots)


def _linked(
    root: str, is_kept: Callable[[str], bool], shut: Callable[[str], None]
) -> Iterator[tuple[str, tuple[int, int], os.stat_result]]:
    """Yield the files below a directory that have several names, each with the identity of its directory. Objects of git
    are left out, which clones share."""
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            above = os.lstat(folder)
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if not is_kept(entry.path):
                            folders.append(entry.path)
                    elif not entry.is_symlink() and (status := status_of(entry.path)):
                        is_file = status.st_nlink > 1 and stat.S_ISREG(status.st_mode)
                        if is_file and not _is_content(entry.path):
                            yield entry.path, (above.st_dev, above.st_ino), status
        except OSError as error:
            if not is_missing(folder, error):
                shut(folder)


def _is_content(path: str) -> bool:
    """Return whether this is content of git, by its name and its beginning: git notices by a checksum what changes it."""
    is_object = _OBJECT.fullmatch(path)
    if not is_object and not _PACKED.fullmatch(path):
        return False
    try:
        with fds.Closing(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)) as fd:
            beginning = os.read(fd, 64)
        return (
            zlib.decompressobj().decompress(beginning, 8).startswith(_KINDS)
            if is_object
            else beginning.startswith(_HEADERS)
        )
    except (OSError, zlib.error):
        return False


def _folded(paths: Iterable[str], roots: list[str]) -> list[str]:
    """Return these paths, or, while they take too many mounts, the directories of the deepest ones."""
    found = _outer(paths)
    first = next(iter(found), "")
    while len(found) > _MOST_MOUNTS or len(found) + len(pinned(found, roots)) > _MOST_MOUNTS:
        depth = max((path.count("/") for path in found if os.path.dirname(path) not in roots), default=0)
        if not depth:
            raise Unguarded(
                f"{len(found)} files and directories, the first {first}, have other names elsewhere (hard links), by which "
                "a job would change those: put copies in their place"
            )
        found = _outer(
            os.path.dirname(path) if path.count("/") == depth and os.path.dirname(path) not in roots else path
            for path in found
        )
    return found


def _outer(paths: Iterable[str]) -> list[str]:
    """Return these paths without those that lie in another one of them."""
    found: list[str] = []
    for path in sorted(set(paths), key=lambda one: one.split("/")):
        if not found or not is_in(path, found[-1:]):
            found.append(path)
    return found
