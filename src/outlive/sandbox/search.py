"""Find all repositories below the writable directories of a sandbox, by a program of our own."""

from __future__ import annotations

import binascii
import os
import select

from outlive.annotations import Mapping
from outlive.sandbox.programs import SEARCH
from outlive.system import fds, spawn

_WHY = {
    1: "there are more than 500,000 directories below",
    2: "the path is longer than 4,000 bytes:",
}


class Unsearched(OSError):
    """The directories could not be searched."""

    def __init__(self, message: str) -> None:
        super().__init__(0, message)


def find(roots: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return (kind, path) of what is found, as search.c says. `roots`: directories, each as an open fd,
    since what a name leads to may change meanwhile. Errors: Unsearched, OSError."""
    with Search(roots) as search:
        return search.result()


class Search:
    """A search that runs. Errors of the start: OSError."""

    def __init__(self, roots: Mapping[str, int]) -> None:
        """`roots`: see `find`; they may be closed now."""
        self._named = {f"/proc/self/fd/{fd}/.": path for path, fd in roots.items()}
        self._pid = 0
        if not roots:
            return
        program = fds.memory_file("search", binascii.a2b_base64(SEARCH[os.uname().machine]))
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self._reading, output = os.pipe()
        try:
            # By its number here, which is its number there too: the check before the spawn sees the same file
            files = {program: program, 0: nothing, 1: output, 2: nothing, **{fd: fd for fd in roots.values()}}
            self._pid = spawn.spawn([f"/proc/self/fd/{program}", *self._named], {}, files, cwd="/")
        finally:
            for fd in (program, nothing, output, *(() if self._pid else (self._reading,))):
                os.close(fd)

    def __enter__(self) -> Search:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pid:  # nobody asked for its result: without a reader it ends at its next write
            os.close(self._reading)
            os.waitpid(self._pid, 0)

    def is_over(self) -> bool:
        """Return whether its result is there."""
        if not self._pid:
            return True
        poller = select.poll()
        poller.register(self._reading, select.POLLIN)
        return bool(poller.poll(0))

    def result(self) -> list[tuple[str, str]]:
        """Wait for it, once. Errors: Unsearched."""
        if not self._pid:
            return []
        with open(self._reading, "rb") as file:
            data = file.read()
        status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        self._pid = 0
        if status != 0:
            what = _WHY.get(status, f"the search for repositories ended with {status} below")
            raise Unsearched(
                f"{what} {' and '.join(self._named.values())}: start outlive in a smaller directory, or give git=write, which "
                "leaves git unprotected while the job runs"
            )
        entries = [(word[:1].decode(), _path(os.fsdecode(word[1:]), self._named)) for word in data.split(b"\0")[:-1]]
        # Only where case is ignored is `head` HEAD
        entries = [(kind, path) for kind, path in entries if kind != "b" or os.path.lexists(os.path.join(path, "HEAD"))]
        return sorted(entries, key=lambda one: one[1])  # an outer directory before what is in it


def _path(word: str, named: Mapping[str, str]) -> str:
    above, _, below = word.partition("/./")
    root = named[f"{above.removesuffix('/.')}/."]
    return os.path.join(root, below.rstrip("/")) if below else root
