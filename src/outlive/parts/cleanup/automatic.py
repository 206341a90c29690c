"""Automatic gc: finished jobs beyond the bounds are deleted without a call of `gc`.

The supervisor of a job does it after the job is over, all sinks were notified and the locks are
released: no caller waits for that process, it knows the bounds of the caller that started the job,
and where no jobs end nothing grows. One process at a time collects in a root, and not too often: it
holds a lock on `.collected`. The time of this file says when one last did; one without content is new.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from outlive.core.records import State
from outlive.core.units import seconds_of
from outlive.errors import OutliveError
from outlive.parts.cleanup import leftovers, surplus
from outlive.parts.cleanup.bounds import Bounds
from outlive.parts.cleanup.surplus import Ended, Share
from outlive.store import atomic_file, delete
from outlive.store.deletions import Deletions
from outlive.store.inspection import completion, inspect, workspace
from outlive.store.job_dir import JobDir
from outlive.store.root import Store
from outlive.system.fds import DIRECTORY, Closing

_COLLECTED = ".collected"
_EVERY_S = 60.0
GC_WORK_S = 20.0  # no further job is deleted after this; the next collection goes on
# After a pause this long, or a jump of the clock, the first collection deletes nothing
GC_PAUSE_S = 7 * 86_400.0
# Above its share a store is brought down to nine tenths of it, so that the next jobs find room
_TARGET = 0.9


def collect(store: Store, bounds: Bounds, noting: Sequence[Callable[[str, str, str], None]] = ()) -> int:
    """Delete the jobs beyond the bounds; return how many. 0 also if it is not time yet, if another
    process is at it, or if the root cannot be written. `noting`: as of `Deletions`."""
    now = time.time()
    with suppress(OSError), Closing(_locked(store.fd)) as stamp:
        status = os.fstat(stamp)
        if not _is_due(status):
            return 0
        _begin(stamp)
        last = _last(status)
        if last is not None and now - last > GC_PAUSE_S:
            return 0
        with Deletions(store, "automatic", noting) as deletions:
            return _sweep(store, bounds, now, deletions)
    return 0


def _sweep(store: Store, bounds: Bounds, now: float, deletions: Deletions) -> int:
    leftovers.clean(store, dry_run=False)
    limit = surplus.bytes_of_share(store.fd, bounds.max_percent)
    if limit is not None and delete.bytes_of_jobs(store.path, store.fd, store.ids()) <= limit:
        limit = None
    if limit is None and bounds == Bounds(max_percent=bounds.max_percent):
        return 0
    survey = _Survey(store, bounds, sizes=limit is not None)
    # Begun here: a survey that takes longer must not end every sweep before its first job
    until = time.monotonic() + GC_WORK_S
    deleted = 0
    for one, why in survey.beyond(bounds, now, limit):
        if time.monotonic() >= until:
            break
        if one.has_just_ended(now):
            continue
        try:
            _delete(store, one.job_id, why, deletions)
        except (OSError, OutliveError):  # held again, or deleted by another process
            continue
        deleted += 1
    return deleted


def _delete(store: Store, job_id: str, why: str, deletions: Deletions) -> None:
    with JobDir.open(store, job_id) as job:
        scope = job.read_meta().scope
        delete.delete(store, job, note=lambda freed: deletions.note(job_id, scope, why, freed))


class _Survey:
    """The jobs of a root as the bounds see them."""

    def __init__(self, store: Store, bounds: Bounds, *, sizes: bool) -> None:
        """`sizes`: the bytes of each job are needed, and whether it counts towards the share."""
        self._store = store
        self._share = sizes
        self._sizes = sizes or bounds.max_bytes is not None
        self._ended: list[Ended] = []
        self._other_bytes = self._kept_bytes = 0  # of jobs that stay: of all, and of this machine's
        for job_id in sorted(store.ids()):
            self._take(job_id)

    def _take(self, job_id: str) -> None:
        foreign = False
        try:
            with JobDir.open(self._store, job_id) as job:
                size = delete.bytes_of_job(job) if self._sizes else 0
                state = job.read_state() or State(job_id=job_id)
                # It may have been running when the machine went down. Without the code its end is left to a reader
                if not state.finished and workspace.is_at_hand(job.read_meta().sandbox):
                    state = inspect.inspect_job(job).state
                foreign = self._share and inspect.is_foreign(job.read_meta(), state)
                stamp = state.finished_at or state.updated_at
                at = seconds_of(stamp) if state.finished and stamp else None
                if at is not None and (
                    job.is_supervised()  # processes of it still run
                    or completion.is_end_unreported(job, job.read_meta())
                ):
                    at = None
        # A link, damaged, deleted meanwhile, or of a newer version
        except (OSError, OutliveError, ValueError):
            return
        if at is not None:
            self._ended.append(Ended(job_id, at, size, foreign=foreign))
            return
        self._other_bytes += size
        self._kept_bytes += 0 if foreign else size

    def beyond(self, bounds: Bounds, now: float, limit: int | None) -> list[tuple[Ended, str]]:
        """Return the jobs to delete, each with the bound that it exceeds. `limit`: how many bytes
        are the share of the file system; None where the store is below it."""
        share = None if limit is None else Share(limit, self._kept_bytes, int(limit * _TARGET))
        return surplus.too_many(self._ended, bounds, now=now, other_bytes=self._other_bytes, share=share)


# --- when ---


def _last(status: os.stat_result) -> float | None:
    """Return when the jobs were last looked at (Unix seconds), by the status of the file; None if they never were."""
    return status.st_mtime if status.st_size else None


def _is_due(status: os.stat_result) -> bool:
    """Return whether a look is due. One in the future was before the clock was set back."""
    before = _last(status)
    return before is None or not 0 <= time.time() - before < _EVERY_S


def _begin(fd: int) -> None:
    """Write into the locked file that a look begins: a look that a damaged job kills is not repeated at every end of a
    job. Errors: OSError."""
    os.pwrite(fd, b"\n", 0)
    os.utime(fd, (time.time(),) * 2)


def is_time(path: str) -> bool:
    """Return whether automatic gc is to be run in this root. Errors: OSError."""
    with Closing(os.open(path, DIRECTORY)) as root:
        if os.fstat(root).st_uid != os.geteuid():
            return False
        try:
            return _is_due(os.stat(_COLLECTED, dir_fd=root, follow_symlinks=False))
        except FileNotFoundError:
            return True


def _locked(root: int) -> int:
    """Return an fd of the file, for this process alone. Errors: OSError, BlockingIOError while another one has it."""
    fd = atomic_file.open_regular(root, _COLLECTED, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise
    return fd
