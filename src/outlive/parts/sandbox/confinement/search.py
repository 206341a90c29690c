"""Find all repositories, and settings of editors, below the writable directories of a sandbox, by a program of our own."""

from __future__ import annotations

import binascii
import os
from collections.abc import Iterable, Mapping

from outlive.parts.sandbox.confinement.programs import SEARCH
from outlive.system import fds, spawn
from outlive.system.fds import Closing

_WHY = {
    1: "there are more than 500,000 directories below",
    2: "the path is longer than 4,000 bytes:",
}
_PACKAGES = "node_modules"


class Unguarded(OSError):
    """Something that cannot be kept from a job: it is not started."""

    def __init__(self, message: str) -> None:
        super().__init__(0, message)


def find(roots: Mapping[str, int], settings: Iterable[str] = ()) -> list[tuple[str, str]]:
    """Return (kind, path) of what is found, as search.c says. `roots`: directories, each as an open fd, since what a
    name leads to may change meanwhile. `settings`: names of files and directories; those of packages (`node_modules`)
    do not count, which no editor opens. Errors: Unguarded, OSError."""
    if not roots:
        return []
    named = {f"/proc/self/fd/{fd}/.": path for path, fd in roots.items()}
    words = ["".join(f"{name}/" for name in settings), *named]
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
                pid = spawn.spawn([f"/proc/self/fd/{program}", *words], {}, files, cwd="/")
            data = file.read()
    return data, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


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
