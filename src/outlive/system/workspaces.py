"""The directories that jobs in sandboxes may write: those of all callers, servers and job roots of a user.

Each is a link in a directory of the state directory, which no job is shown. The process that decides about a job makes it,
before anything runs, so each process that looks for a program of outlive's own (own_programs.py) knows where jobs have
been, wherever it was started.
"""

import binascii
import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping

from outlive.core.base_directories import state_directory

_FOLDER = "workspaces"
_MANY = 500  # from so many on those are forgotten that are gone


def note(paths: Iterable[str], env: Mapping[str, str]) -> None:
    """Take note of directories, by absolute paths without links, where a caller with these variables and this process
    look. Where the state directory cannot be written, nothing is noted."""
    for folder, path in itertools.product(_folders(env), paths):
        with contextlib.suppress(OSError):
            _note(folder, path)


def _note(folder: str, path: str) -> None:
    for number in itertools.count():  # a few paths have the same checksum
        link = f"{folder}/{binascii.crc32(os.fsencode(path)):08x}.{number}"
        if not os.path.lexists(link):
            os.makedirs(folder, 0o700, exist_ok=True)
            _forget_gone(folder)
            with contextlib.suppress(FileExistsError):  # another process was faster
                os.symlink(path, link)
        if os.readlink(link) == path:
            return


def noted(env: Mapping[str, str]) -> list[str]:
    """Return the directories that were noted, of a caller with these variables and of this process."""
    return [*dict.fromkeys(path for folder in _folders(env) for _, path in _links(folder))]


def noted_in(directories: Iterable[str]) -> list[str]:
    """Return the directories that were noted in these state directories; others have none."""
    return [path for directory in directories for _, path in _links(os.path.join(directory, _FOLDER))]


def stamp(env: Mapping[str, str]) -> tuple[int, ...]:
    """Return what changes when more is noted."""
    return tuple(time for folder in _folders(env) for time in _changed(folder))


def _folders(env: Mapping[str, str]) -> list[str]:
    return [*dict.fromkeys(os.path.join(state_directory(one), _FOLDER) for one in (env, os.environ))]


def _links(folder: str) -> Iterator[tuple[str, str]]:
    """Yield each link with the directory that it names."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            link = os.path.join(folder, name)
            with contextlib.suppress(OSError):  # forgotten meanwhile
                yield link, os.readlink(link)


def _changed(folder: str) -> Iterator[int]:
    with contextlib.suppress(OSError):
        yield os.stat(folder).st_mtime_ns


def _forget_gone(folder: str) -> None:
    links = [*_links(folder)]
    for link, path in links if len(links) >= _MANY else ():
        with contextlib.suppress(FileNotFoundError):  # another process forgets it too
            if not os.path.lexists(path):
                os.unlink(link)
