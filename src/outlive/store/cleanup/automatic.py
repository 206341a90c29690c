"""Automatic gc: finished jobs beyond the configured bounds are deleted without a call of `gc`.

The supervisor of a job does it after the job is over, all sinks were notified and the locks are
released: no caller waits for that process, it knows the bounds of the caller that started the job,
and where no jobs end nothing grows. One process at a time collects in a root, and not too often: it
holds a lock on `.collected`, whose time says when the last one did.
"""

from __future__ import annotations

import fcntl
import os
import time

from outlive.core.ids import id_time_ms
from outlive.core.units import seconds_of
from outlive.errors import OutliveError
from outlive.store import inspect
from outlive.store.cleanup import delete
from outlive.store.cleanup.policy import Ended, surplus
from outlive.store.job_dir import JobDir
from outlive.store.root import COLLECTED, Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.store.cleanup.policy import Bounds

GC_AGE_EVERY_S = 3_600.0  # seconds between two collections where only the age is bounded
GC_EVERY_S = 60.0  # where the number or the bytes are bounded, because a store may grow fast
GC_WORK_S = 20.0  # no further job is deleted after this; the next collection goes on
GC_GRACE_S = 300.0  # a finished job is kept this long for the callers that waited for its end
# After a pause this long, or a jump of the clock, the first collection deletes nothing
GC_PAUSE_S = 7 * 86_400.0

# Size of `.collected`: 0 is a new file. After a sweep that was cut short the next call goes on at
# once; the file's time says nothing of that, because it guards against jumps of the clock.
_WHOLE, _CUT_SHORT = 1, 2


def collect(store: Store, bounds: Bounds) -> int:
    """Delete the jobs beyond the bounds; return how many. 0 also if it is not time yet, if another
    process is at it, or if the root cannot be written."""
    now = time.time()
    try:
        stamp = os.open(COLLECTED, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600, dir_fd=store.fd)
    except OSError:
        return 0
    try:
        fcntl.flock(stamp, fcntl.LOCK_EX | fcntl.LOCK_NB)
        last = os.fstat(stamp)
        if not _is_due(last, bounds, now):
            return 0
        # Stamp first: a collection that is killed over a damaged job must not be killed over it at
        # every end of a job
        _stamp(stamp, _WHOLE)
        if last.st_size and now - last.st_mtime > GC_PAUSE_S:
            return 0
        deleted, whole = _sweep(store, bounds, now)
        if not whole:
            _stamp(stamp, _CUT_SHORT)
        return deleted
    except OSError:  # locked, or read-only since
        return 0
    finally:
        os.close(stamp)


def is_time(store: Store, bounds: Bounds) -> bool:
    """Return whether `collect` would look for jobs to delete now."""
    try:
        return _is_due(os.stat(COLLECTED, dir_fd=store.fd, follow_symlinks=False), bounds, time.time())
    except OSError:
        return True


def _is_due(last: os.stat_result, bounds: Bounds, now: float) -> bool:
    every_s = GC_AGE_EVERY_S if bounds.max_jobs is None and bounds.max_bytes is None else GC_EVERY_S
    # A time in the future was written before the clock was set back
    return last.st_size in (0, _CUT_SHORT) or not 0 <= now - last.st_mtime < every_s


def _stamp(stamp: int, size: int) -> None:
    """Give `.collected` the present time and this size (_WHOLE or _CUT_SHORT)."""
    os.ftruncate(stamp, size)
    os.utime(stamp)


def _sweep(store: Store, bounds: Bounds, now: float) -> tuple[int, bool]:
    """Return the number of jobs deleted, and whether the sweep came to its end."""
    delete.clean(store, dry_run=False)
    ended, others = _survey(store, bounds, now)
    # Begun here: a survey that takes longer must not end every sweep before its first job
    until = time.monotonic() + GC_WORK_S
    deleted = 0
    for one, _ in surplus(ended, bounds, now=now, other_bytes=others):
        if time.monotonic() >= until:
            return deleted, False
        # Callers that waited for it are reading it. (A job that ended in the future ended before
        # the clock was set back.)
        if 0 <= now - one.at < GC_GRACE_S:
            continue
        try:
            with JobDir.open(store, one.job_id) as job:
                delete.delete(store, job)
        except (OSError, OutliveError):  # held again, or deleted by another process
            continue
        deleted += 1
    return deleted, True


def _survey(store: Store, bounds: Bounds, now: float) -> tuple[list[Ended], int]:
    """Return the finished jobs that may be too many, and the bytes of all others. Opens no more
    jobs than the bounds need."""
    ids = sorted(store.ids())
    if bounds.max_bytes is None and (bounds.max_jobs is None or len(ids) <= bounds.max_jobs):
        # A job is older than its end: only those that began long enough ago can have ended long
        # enough ago
        cutoff_ms = (now - (bounds.older_than_s or 0)) * 1000
        ids = [] if bounds.older_than_s is None else [one for one in ids if id_time_ms(one) < cutoff_ms]
    ended, others = [], 0
    for job_id in ids:
        try:
            with JobDir.open(store, job_id) as job:
                size = job.disk_bytes() if bounds.max_bytes is not None else 0
                at = _ended_at(store, job)
                if at is not None and _is_needed(store, job):
                    at = None
        # A link, damaged, deleted meanwhile, or of a newer version
        except (OSError, OutliveError, ValueError):
            continue
        if at is None:
            others += size
        else:
            ended.append(Ended(job_id, at, size))
    return ended, others


def _ended_at(store: Store, job: JobDir) -> float | None:
    """Return when a job ended (Unix seconds); None if it has not, or if that cannot be read."""
    state = job.read_state()
    if state is None or not state.finished:
        # It may have been running when the machine went down
        state = inspect.inspect_job(store, job).state
    stamp = state.finished_at or state.updated_at
    return seconds_of(stamp) if state.finished and stamp else None


def _is_needed(store: Store, job: JobDir) -> bool:
    """Return whether processes of the job still run, or its sinks are still to be notified of the
    end."""
    return job.is_supervised() or inspect.is_end_untold(store, job, job.read_meta())
