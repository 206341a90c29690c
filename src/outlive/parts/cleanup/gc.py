"""Delete old finished jobs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from outlive import limits
from outlive.core.units import duration_ms, seconds_or
from outlive.errors import OutliveError, argument
from outlive.jobs import acts, lookup
from outlive.jobs.context import Context
from outlive.jobs.told import ownership
from outlive.parts.cleanup import GC, leftovers, settings, surplus
from outlive.parts.cleanup.answers import IN_WINDOW, Collected, Decided, KeptTo, Totals
from outlive.parts.cleanup.bounds import Bounds
from outlive.parts.cleanup.surplus import Ended, Share
from outlive.store import delete
from outlive.store.deletions import Deletions
from outlive.store.inspection import inspect
from outlive.store.inspection.inspection import Inspection
from outlive.system import tree
from outlive.system.waiting import checkpoint

_T = TypeVar("_T")
_R = TypeVar("_R")

# 500 jobs were deleted in 11 s by one thread and in 0.5 s by eight, on a disk that other processes kept busy: a single
# unlink(2) mostly waits for the journal
THREADS = 8


def gc(
    ctx: Context,
    *,
    older_than: str | None = None,
    dry_run: bool = False,
    max_jobs: int | None = None,
    max_bytes: int | None = None,
    max_percent: float | None = None,
) -> Collected:
    """Delete jobs that ended before the window, and those that ended first until `max_jobs`,
    `max_bytes` and `max_percent` hold."""
    window, source = _window(ctx, older_than)
    given = {"max_jobs": max_jobs, "max_bytes": max_bytes, "max_percent": max_percent}
    kept: dict[str, Any] = {key: _bound(ctx, key, value) for key, value in given.items()}
    bounds = Bounds(older_than_s=duration_ms(window, argument("older_than"), bare_unit=None) / 1000, **kept)
    if not dry_run:
        acts.about_to(ctx, "gc", older_than=window, **kept)
    sweep = _Sweep(ctx, dry_run)
    ctx.progress = sweep.progress
    sweep.survey(lookup.job_ids(ctx.caller))  # newest first
    limit = surplus.bytes_of_share(ctx.store.fd, bounds.max_percent)
    sweep.delete(bounds, limit)
    return Collected(
        root=ctx.store.path,
        dry_run=dry_run,
        older_than=window,
        older_than_source=source,
        totals=sweep.totals(),
        # Leftovers no longer tell whose they were, so callers behind a wall neither delete nor
        # count them
        leftovers=leftovers.clean(ctx.store, dry_run=dry_run) if ctx.caller.wall is None else 0,
        bounds=KeptTo(**kept, share_bytes=limit),
        automatic=settings.bounds(ctx.config) is not None,
    )


def _bound(ctx: Context, key: str, given: float | None) -> Any:
    """Return a bound as the call or the configuration has it; None for 0, which means no limit."""
    return (settings.value(ctx.config, key) if given is None else given) or None


def _window(ctx: Context, given: str | None) -> tuple[str, str]:
    if given is not None:
        return given, "flag"
    return settings.value(ctx.config, "older_than"), "config" if ctx.config.is_set(GC, "older_than") else "default"


class _Sweep:
    """Surveys every job of the root first, then deletes; the job that ended first goes first."""

    def __init__(self, ctx: Context, dry_run: bool) -> None:
        self._ctx = ctx
        self._dry_run = dry_run
        self._states: dict[str, str] = {}
        self._scopes: dict[str, str | None] = {}
        self._damage: dict[str, str] = {}  # of jobs that cannot be read, and are as old as their directory
        self._ended: list[Ended] = []
        # Of the caller's jobs that cannot be deleted, and of those of this machine
        self._other_bytes = self._kept_bytes = 0
        self._used_jobs = self._used_bytes = 0
        self._deleted = self._skipped = self._freed = self._foreign = 0
        self._jobs: list[Decided] = []
        self._surplus: int | None = None  # jobs to delete, once they are known
        self._handled = 0

    def progress(self) -> tuple[int, int | None, str]:
        """Return how far it is."""
        if self._surplus is None:
            return self._used_jobs, None, "jobs looked at"
        return self._handled, self._surplus, "jobs deleted"

    def survey(self, job_ids: Iterable[str]) -> None:
        """Take in what is so of these jobs."""
        for job_id, seen in each(self._look, job_ids):
            checkpoint()
            if isinstance(seen, (OSError, OutliveError)):
                self._skip(job_id, "unknown", f"it cannot be read: {seen}", 0)
            elif isinstance(seen, Exception):
                raise seen
            else:
                self._take(job_id, *seen)

    def _look(self, job_id: str) -> tuple[int, float, Inspection]:
        with lookup.open_known(self._ctx.caller, job_id) as job:
            changed = os.fstat(job.fd).st_mtime  # before anything is written into it
            return delete.bytes_of_job(job), changed, inspect.inspect_job(job)

    def _take(self, job_id: str, size: int, changed: float, inspection: Inspection) -> None:
        self._used_jobs += 1
        self._used_bytes += size
        state = inspection.state
        if self._ctx.face == "mcp" and not ownership.is_own(self._ctx, inspection.definition):
            self._foreign += 1
            return
        foreign = inspect.is_foreign(inspection.definition, state)
        ended = state.finished_at or state.updated_at
        why = None
        if inspection.supervised and (state.finished or inspection.damage):
            why = "something it started still runs"
        elif state.state == "unknown" and inspection.damage:
            self._damage[job_id] = inspection.damage
            if inspection.elsewhere or tree.with_cookie(job_id):
                why = f"it cannot be read ({inspection.damage}), and may still run"
        elif not state.finished:
            why = "it has not ended"
        elif not ended:
            why = "when it ended is not known"
        if why is not None:
            self._other_bytes += size
            self._kept_bytes += 0 if foreign else size
            self._skip(job_id, state.state, why, size)
            return
        self._states[job_id] = state.state
        self._scopes[job_id] = inspection.definition.scope
        at = changed if job_id in self._damage else seconds_or(ended, changed)
        self._ended.append(Ended(job_id, at, size, foreign=foreign))

    def delete(self, bounds: Bounds, limit: int | None) -> None:
        """Delete those of the caller's jobs that are beyond the bounds. `limit`: the bytes of their
        share of the file system."""
        share = None if limit is None else Share(limit, self._kept_bytes)
        gone = dict(surplus.too_many(self._ended, bounds, now=time.time(), other_bytes=self._other_bytes, share=share))
        self._surplus = len(gone)
        with Deletions(self._ctx.store, "gc") as record:
            for one, freed in each(lambda one: self._delete(one, gone[one], record), gone):
                checkpoint()
                self._handled += 1
                self._count(one, gone[one], freed)
        for one in self._ended:
            if one not in gone:
                self._skip(one.job_id, self._states[one.job_id], IN_WINDOW, one.bytes)

    def _delete(self, one: Ended, why: str, record: Deletions) -> int:
        """Return how many bytes deleting the job gave back. Errors: as store/delete.py."""
        if self._dry_run:
            return one.bytes
        scope = self._scopes[one.job_id]
        with lookup.open_known(self._ctx.caller, one.job_id) as job:
            return delete.delete(
                self._ctx.store, job, one.bytes, lambda freed: record.note(one.job_id, scope, why, freed)
            )

    def _count(self, one: Ended, why: str, freed: int | Exception) -> None:
        state = self._states[one.job_id]
        if isinstance(freed, OutliveError):  # another call deleted it first
            return
        if isinstance(freed, OSError):
            is_held = isinstance(freed, BlockingIOError)
            problem = "something it started still runs" if is_held else f"it could not be deleted: {freed.strerror}"
            self._skip(one.job_id, state, problem, one.bytes)
            return
        if isinstance(freed, Exception):
            raise freed
        self._freed += freed
        self._note(one.job_id, state, "would_delete" if self._dry_run else "deleted", why, freed)
        if not self._dry_run:
            self._deleted += 1
            self._used_jobs -= 1
            self._used_bytes -= freed

    def _skip(self, job_id: str, state: str, why: str, size: int) -> None:
        self._skipped += 1
        self._note(job_id, state, "skipped", why, size)

    def _note(self, job_id: str, state: str, action: str, reason: str, size: int) -> None:
        if job_id in self._damage and action != "skipped":
            reason += f", by the age of its directory: it cannot be read ({self._damage[job_id]})"
        self._jobs.append(Decided(job_id=job_id, state=state, action=action, reason=reason, bytes=size))

    def totals(self) -> Totals:
        """Return the counts, and as many jobs as an answer should hold, deleted ones first."""
        ordered = sorted(self._jobs, key=lambda job: job.action == "skipped")
        return Totals(
            deleted=self._deleted,
            skipped=self._skipped,
            out_of_scope=self._foreign,
            freed_bytes=self._freed,
            used_jobs=self._used_jobs,
            used_bytes=max(0, self._used_bytes),
            jobs=ordered[: limits.GC_LISTED_JOBS],
            truncated=len(ordered) > limits.GC_LISTED_JOBS,
        )


def each(work: Callable[[_T], _R], items: Iterable[_T]) -> Generator[tuple[_T, _R | Exception], None, None]:
    """Yield every item with what `work(item)` returned or raised, in the order of the items; several are worked on at once.
    When the generator is closed, what has not begun is left."""

    def done(item: _T) -> _R | Exception:
        try:
            return work(item)
        except Exception as error:  # noqa: BLE001 - the caller's to judge
            return error

    wanted = list(items)
    if len(wanted) <= THREADS:
        yield from ((item, done(item)) for item in wanted)
        return
    pool = ThreadPoolExecutor(THREADS)
    try:
        yield from zip(wanted, pool.map(done, wanted), strict=True)
    finally:
        pool.shutdown(cancel_futures=True)
