"""What is kept from a job, before all of it is known.

The search for repositories takes time in a large tree. A sandbox is made meanwhile, as if the only
one were that at the top, and nothing runs in it before the search is over. If there is more to be
kept, another sandbox is made.
"""

from __future__ import annotations

from outlive.sandbox.after import Before
from outlive.sandbox.guard import Guard, likely, searching

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.core.records import Sandbox
    from outlive.sandbox.mounts import Mounts


class Keeping:
    """A search that runs, and what is kept. Errors of the start: OSError."""

    def __init__(self, sandbox: Sandbox, folder: int | None) -> None:
        """`folder`: an fd of the directory of the job, for the record of what is there before it."""
        self._sandbox = sandbox
        self._folder = folder
        # outlive and what agents obey are kept with git=write too
        self._search = searching(sandbox) if sandbox.mode == "workspace-write" else None
        self._supposed: Guard | None = None
        self._found: Guard | None = None

    def __enter__(self) -> Keeping:
        return self

    def __exit__(self, *error: object) -> None:
        if self._search is not None:
            self._search.__exit__(*error)

    def now(self) -> Guard | None:
        """Return what is kept as far as is known, None if nothing is. Errors: OSError."""
        if self._search is not None and self._found is None and not self._search.is_over():
            self._supposed = likely(self._sandbox)
            return self._supposed
        return self.found()

    def found(self) -> Guard | None:
        """Wait for the search, and return what is kept. Errors: OSError."""
        if self._search is not None and self._found is None:
            self._found = Guard(self._sandbox, self._search.result())
            if self._folder is not None and self._sandbox.git != "write":
                Before.of(self._found).write(self._folder)
        return self._found

    def is_in(self, mounts: Mounts) -> bool:
        """Wait for the search, and return whether these mounts keep all of it. Errors: OSError."""
        found = self.found()
        if self._supposed is None or found is None:
            return True
        supposed, self._supposed = self._supposed, None
        return found.mounts_as(supposed) and mounts.is_as_bound()
