"""Keep one running job for each `dedupe_key` of an owner in a directory."""

from __future__ import annotations

import fcntl
import os
import time

from outlive import limits
from outlive.errors import OutliveError, from_os
from outlive.jobs import adoption, lookup
from outlive.jobs.waiting import Pause

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.core.records import Definition
    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.store.inspect import Inspection


def _keyed(definition: Definition) -> tuple[str | None, ...]:
    return definition.dedupe_key, definition.owner, definition.scope, definition.cwd


def _goes_on(found: Inspection) -> bool:
    """Return whether the job runs, or waits for approval."""
    return found.state.state == "running" or (found.state.state == "created" and found.definition.approval is not None)


class Deduplication:
    """A lock around the starts of jobs with a key: two clients that start one at the same moment
    get one job."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._fd = -1

    def acquire(self) -> Waiting[None]:
        """Take the lock. Errors: io_error, also if another process does not release it in time."""
        until = time.monotonic() + limits.CONTROL_S
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._fd = os.open(".dedupe.lock", flags, 0o600, dir_fd=self._ctx.store.fd)
            while True:
                try:
                    fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                except BlockingIOError:
                    if time.monotonic() >= until:
                        raise
                yield Pause((), time.monotonic() + limits.SWEEP_INTERVAL_S)
        except OSError as error:
            raise from_os(f"locking {self._ctx.store.path}/.dedupe.lock", error, on="store") from error

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def running(self, wanted: Definition) -> str | None:
        """Return the id of the running job with the same key, owner and directory; None if there is
        none."""
        for job_id in lookup.live_ids(self._ctx):
            try:
                with lookup.open_known(self._ctx, job_id) as job:
                    other = job.read_meta()
                    if _keyed(other) == _keyed(wanted) and _goes_on(adoption.inspect_and_adopt(self._ctx, job)):
                        return job_id
            except (OSError, OutliveError):
                continue
        return None
