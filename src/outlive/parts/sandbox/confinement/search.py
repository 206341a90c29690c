"""Find all repositories, and settings of editors, below the writable directories of a sandbox, by a program of our own; and
look at those settings."""

from __future__ import annotations

import binascii
import heapq
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence

from outlive.core.real_path import real_path
from outlive.parts.sandbox.confinement import visible_paths
from outlive.parts.sandbox.confinement.programs import SEARCH
from outlive.parts.sandbox.confinement.visible_paths import is_in
from outlive.system import fds, paths, spawn
from outlive.system.fds import Closing
from outlive.system.mounts import other_names
from outlive.system.paths import status_of

_WHY = {
    1: "there are more than 500,000 directories below",
    2: "the path is longer than 4,000 bytes:",
    4: "the paths of repositories and settings take more than 16 MB below",
}
_PACKAGES = "node_modules"
_INNERMOST = 50  # directories in each other, in one of settings, and behind links in it
_MOST_ENTRIES = 1000  # of a directory behind a link
_MOST_BEHIND = 10_000  # entries behind links, in one look
_MOST_FOUND = 16 << 20  # bytes that a search may print: a job may have made paths of 4,000 bytes
_MOST_NOTED = 64 << 20  # bytes that what is noted in one look may take, about so many for each entry besides its path:
_ENTRY = 200


class Unguarded(OSError):
    """Something that cannot be kept from a job: it is not started."""

    def __init__(self, message: str) -> None:
        super().__init__(0, message)


def find(roots: Mapping[str, int], settings: Iterable[str] = ()) -> list[tuple[str, str]]:
    """Return (kind, path) of what is found, as search.c says. `roots`: directories, each as an open fd, since what a
    name leads to may change meanwhile. `settings`: names of files and directories, of which the first one of a path is
    searched for; those of packages (`node_modules`) do not count, which no editor opens. Errors: Unguarded, OSError."""
    if not roots:
        return []
    named = {f"/proc/self/fd/{fd}/.": path for path, fd in roots.items()}
    first = dict.fromkeys(name.split("/")[0] for name in settings)
    words = ["".join(f"{name}/" for name in first), *named]
    data, status = _searched(words, roots.values())
    if status != 0:
        what = _WHY.get(status, f"the search for repositories ended with {status} below")
        raise Unguarded(
            f"{what} {' and '.join(roots)}: start outlive in a smaller directory, or give git=write, which "
            "leaves git unprotected while the job runs"
        )
    found = [(word[:1].decode(), *_place(os.fsdecode(word[1:]), named)) for word in data.split(b"\0")[:-1]]
    gits = {(root, below) for kind, root, below in found if kind == "g"}
    # Only where case is ignored is `head` HEAD. By the fd: a root may have a name that leads nowhere
    entries = [
        (kind, os.path.join(root, below) if below else root)
        for kind, root, below in found
        if (kind != "b" or may_be_there(os.path.join(below, "HEAD"), roots[root]))
        and (kind != "s" or _PACKAGES not in below.split("/") or (root, below) in gits)
    ]
    return sorted(entries, key=lambda one: one[1])  # an outer directory before what is in it


def _searched(words: list[str], roots: Iterable[int]) -> tuple[bytes, int]:
    """Return what the program prints, and its exit code."""
    code = binascii.a2b_base64(SEARCH[os.uname().machine])
    with Closing(fds.memory_file("search", code)) as program, Closing(os.open(os.devnull, os.O_RDWR)) as nothing:
        reading, output = os.pipe()
        with open(reading, "rb") as file:
            with Closing(output):
                # By its number here, which is its number there too: the check before the spawn sees the same file
                files = {program: program, 0: nothing, 1: output, 2: nothing, **{fd: fd for fd in roots}}
                pid = spawn.spawn([f"/proc/self/fd/{program}", *words], {}, files, spawn.How("/"))
            data = file.read(_MOST_FOUND + 1)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])  # it ends also where nobody reads what it prints
    return data, 4 if len(data) > _MOST_FOUND else status


def _place(word: str, named: Mapping[str, str]) -> tuple[str, str]:
    """Return the root that a path of the program is below, and the rest of the path."""
    above, _, below = word.partition("/./")
    return named[f"{above.removesuffix('/.')}/."], below.rstrip("/")


def may_be_there(path: str, folder: int | None = None) -> bool:
    """Return whether something is at a path; of what cannot be looked at, that it is."""
    try:
        os.lstat(path, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


class Look:
    """One look at what tools obey by themselves. Links are followed in writable directories alone, elsewhere a job changes
    nothing, and so far: a job may have made any number."""

    def __init__(self, roots: Sequence[str]) -> None:
        self.again = other_names(roots, below=False)  # the same directories by another mount
        self._roots = [*roots, *self.again]
        self._left, self._room = _MOST_BEHIND, _MOST_NOTED

    def new(self, top: str, files: Mapping[str, list[int]], *, kept: bool) -> list[str]:
        """Return what is new at the top of a directory; `files`: what was there before, as of a guard. Of a directory that
        is new it is the directory alone."""
        there = (os.path.join(top, name) for name in visible_paths.SETTINGS)
        new = [path for path in there if path not in files and status_of(path)]
        now = (path for path, _ in self.stamps(top, kept=kept, new=new))
        return [*(path for path in now if path not in files), *new]

    def stamps(self, top: str, *, kept: bool = True, new: Sequence[str] = ()) -> Iterator[tuple[str, list[int]]]:
        """Yield what is at the top of a directory, but for what is `new`, and what links in directories of settings lead to,
        each with its `mark`. Where a job may write the latter (`kept` False), also what is in them."""
        for name in visible_paths.OBEYED:
            path = os.path.join(top, name)
            there = None if path in new else status_of(path)
            if there is None or (stat.S_ISDIR(there.st_mode) and name in visible_paths.SETTING_FILES):
                continue
            yield path, mark(path)
            if stat.S_ISDIR(there.st_mode) or (os.path.isdir(path) and self.leads_inside(path)):
                yield from self._behind_links(path, set()) if kept else self.all_in(path)

    def leads_inside(self, path: str) -> bool:
        return is_in(real_path(path), self._roots)

    def all_in(self, folder: str) -> Iterator[tuple[str, list[int]]]:
        """Yield the files in a directory that a job may write, and those that links in it lead to. Errors: OSError, Unguarded
        for more than a look may note."""
        seen: set[tuple[int, int]] = set()
        for path, known in inside(folder):
            self._room -= len(path) + _ENTRY
            if self._room < 0:
                raise Unguarded(f"{folder} has too many files for settings: start outlive in a smaller directory")
            yield path, known
            if os.path.islink(path) and os.path.isdir(path) and self.leads_inside(path):
                yield from self._behind_links(path, seen, is_behind=True)

    def _behind_links(
        self, folder: str, seen: set[tuple[int, int]], *, is_behind: bool = False, deep: int = _INNERMOST
    ) -> Iterator[tuple[str, list[int]]]:
        """Yield the files that links in a directory lead to, and those in directories that links lead to. `seen`: device and
        inode of such directories, each of which is looked at once: links may lead back to where they are."""
        if is_behind:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in seen:
                return
            seen.add((status.st_dev, status.st_ino))
        # In one order: by which of its names a directory is known is to be the same at the next look
        for entry in heapq.nsmallest(_MOST_ENTRIES, entries_of(folder), key=lambda one: one.name):
            is_link = entry.is_symlink()
            behind = is_behind or is_link
            self._left -= behind
            if self._left < 0 or entry.name == ".git":  # which is looked at as a repository
                continue
            if not os.path.isdir(entry.path):
                if behind and (known := mark(entry.path)):
                    yield entry.path, known
            elif deep and (behind or not os.path.lexists(f"{entry.path}/.git")):  # else it is looked at by itself
                if not is_link or self.leads_inside(entry.path):
                    yield from self._behind_links(entry.path, seen, is_behind=behind, deep=deep - 1)


def mark(path: str) -> list[int]:
    """Return what a change of an entry changes, and of what it leads to; nothing if there is nothing. Of a directory, in
    which you write meanwhile, only which it is."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError:  # it may be there
        return [0]
    if stat.S_ISDIR(status.st_mode):
        return [status.st_dev, status.st_ino]
    return [*paths.stamp(status), *(_stamp_behind(path) if stat.S_ISLNK(status.st_mode) else [])]


def inside(folder: str, deep: int = _INNERMOST) -> Iterator[tuple[str, list[int]]]:
    """Yield the files in a directory, each with its `mark`; no link is followed. Errors: OSError."""
    for entry in entries_of(folder):
        if not entry.is_dir(follow_symlinks=False):
            yield entry.path, mark(entry.path)
        elif deep and entry.name != ".git":  # which is read-only, and your git writes in it
            yield from inside(entry.path, deep - 1)


def _stamp_behind(path: str) -> list[int]:
    """Return what a change of what a link leads to changes. Of a directory, in which you write meanwhile, only which it
    is: a job cannot write there."""
    try:
        status = os.stat(path)
    except OSError:
        return []
    return [status.st_dev, status.st_ino] if stat.S_ISDIR(status.st_mode) else paths.stamp(status)


def entries_of(folder: str) -> Iterator[os.DirEntry[str]]:
    """Yield what is in a directory, of which a job may have made any number; nothing if there is none. Errors: OSError for what
    cannot be read, and may be there."""
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError as error:
        if not paths.is_missing(folder, error):
            raise
