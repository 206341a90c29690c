"""What is kept from a job, before all of it is known.

The search for repositories takes time in a large tree. A sandbox is made meanwhile, as if the only
one were that at the top, and nothing runs in it before the search is over. If there is more to be
kept, another sandbox is made, and the next start in this workspace waits for the search.
"""

from __future__ import annotations

import os

from outlive.core.records import Sandbox
from outlive.parts.sandbox.confinement.after import Before
from outlive.parts.sandbox.confinement.guard import Guard, guarded, likely
from outlive.parts.sandbox.confinement.mounts import Mounts

_SEVERAL = ".several"  # in the cache of the sandbox, where no job writes: there was more than was supposed


class Keeping:
    """What is supposed to be kept, and what a search has shown."""

    def __init__(self, sandbox: Sandbox, folder: int | None) -> None:
        """`folder`: an fd of the directory of the job, for the record of what is there before it."""
        self._sandbox = sandbox
        self._folder = folder
        self._writes = sandbox.mode == "workspace-write"
        self._mark = os.path.join(sandbox.cache, _SEVERAL) if sandbox.cache else None
        self._supposed: Guard | None = None
        self._found: Guard | None = None

    def now(self) -> Guard | None:
        """Return what is kept as far as is known, None if nothing is. Errors: OSError."""
        if not self._writes or self._found is not None:
            return self._found
        supposed = likely(self._sandbox)
        if self._mark is not None and not os.path.lexists(self._mark):
            self._supposed = supposed
            return supposed
        found = self.found()
        if found is not None and found.mounts_as(supposed):
            self._note(several=False)
        return found

    def found(self) -> Guard | None:
        """Search, once, and return what is kept. Errors: OSError."""
        if self._writes and self._found is None:
            self._found = guarded(self._sandbox)
            if self._folder is not None:
                Before.found_by(self._found).write(self._folder)
        return self._found

    def is_in(self, mounts: Mounts) -> bool:
        """Search, and return whether these mounts keep all of it. Errors: OSError."""
        found = self.found()
        if self._supposed is None or found is None:
            return True
        supposed, self._supposed = self._supposed, None
        is_all = found.mounts_as(supposed) and mounts.is_as_bound()
        if not is_all:
            self._note(several=True)
        return is_all

    def _note(self, *, several: bool) -> None:
        """Note for the next start, if possible: it only takes longer without that."""
        try:
            if self._mark is not None and several:
                os.close(os.open(self._mark, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            elif self._mark is not None:
                os.unlink(self._mark)
        except OSError:
            return
