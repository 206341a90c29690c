"""The directories that jobs in sandboxes may write: those of all callers, servers and job roots of a user.

Each is a link in a directory of the state directory, which no job is shown. It is made before the first program runs in the
sandbox, so whoever looks for a program of outlive's own (own_programs.py) knows where jobs have been, whichever process
that is and wherever it was started.
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
    """Take note of directories, by absolute paths without links. Where the state directory cannot be written, nothing is
    noted."""
    for path in paths:
        with contextlib.suppress(OSError):
            _note(_folder(env), path)


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
    """Return the directories that were noted, of this process's environment and of another one."""
    return [*dict.fromkeys(path for folder in {_folder(env), _folder(os.environ)} for _, path in _links(folder))]


def stamp(env: Mapping[str, str]) -> tuple[int, ...]:
    """Return what changes when more is noted."""
    return tuple(time for folder in {_folder(env), _folder(os.environ)} for time in _changed(folder))


def _folder(env: Mapping[str, str]) -> str:
    return os.path.join(state_directory(env), _FOLDER)


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
        if not os.path.lexists(path):
            os.unlink(link)
