"""The records of a job as its supervisor keeps them: its definition and its state, in memory and on
the disk."""

from __future__ import annotations

from outlive.annotations import Any, Callable
from outlive.core.records import Definition, State
from outlive.errors import OutliveError
from outlive.store.job_dir import JobDir
from outlive.store.syncing import JobSync
from outlive.supervisor.request import Request


class JobRecord:
    """`state` is the newest, whether or not the disk took it. `on_change` is called when readers may
    see a new one.
    """

    def __init__(self, job: JobDir, request: Request, state: State, on_change: Callable[[], None]) -> None:
        self._job = job
        self._on_change = on_change
        self._sync = JobSync(job, created=request.created)
        self.state = state
        self.definition = request.definition  # as it was when the job started
        self.is_doomed = (
            False  # its directory is about to be deleted: a sync may take seconds, and would be for nothing
        )

    def current_definition(self) -> Definition:
        """Return the definition with what `notify set` has changed."""
        try:
            return self._job.read_meta()
        except (OSError, OutliveError):
            return self.definition

    def write(self, **changes: Any) -> None:
        """Change the state. On a full disk it stays in memory, and the next write tries again."""
        self.state = State.replace(self.state, **changes)
        try:
            self.state = self._job.write_state(self.state)
        except OSError:  # full, or removed
            return
        self._on_change()

    def write_if_running(self, **changes: Any) -> None:
        if not self.state.finished:
            self.write(**changes)

    def write_outcome(self, finished: State) -> None:
        """Make the outcome visible. Errors: OSError; then the state is as it was."""
        self.state = self._job.write_state(finished)

    # Syncs of what is visible already (store/syncing.py). No answer waits for them

    def sync_start(self) -> None:
        if not self.is_doomed:
            self._sync.start()

    def sync_end(self, logs: list[int]) -> None:
        """`logs`: the fds of those that have grown."""
        if not self.is_doomed:
            self._sync.end(logs, has_sinks=not self.definition.notification.is_empty)

    def sync_late(self, logs: list[int]) -> None:
        """Sync what descendants wrote after the end."""
        if not self.is_doomed:
            self._sync.late(logs)
