"""A command line forks the pair itself: it is small, has one thread, and is gone soon."""

from __future__ import annotations

from outlive.supervisor.pair import fork_pair


class Launcher:
    """Starts pairs as nobody's children."""

    def send(self, files: dict[str, int]) -> None:
        """Hand a job to a new pair. `files` as in `Pair.send`. Errors: OSError (no process could be made)."""
        pair = fork_pair(away=True)
        try:
            pair.send(files)
        finally:
            pair.close()

    def close(self) -> None:
        """Nothing is kept."""
