"""Delete old finished jobs."""

from __future__ import annotations

import time

from outlive import limits
from outlive.actions import access
from outlive.actions.spec import BOOL, INT, STR, Arg, Verb
from outlive.errors import OutliveError
from outlive.job import duration_ms, seconds_of
from outlive.store import gc as store_gc
from outlive.store import truth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.actions.spec import Context
    from outlive.store.jobdir import JobDir


def gc(
    ctx: Context,
    *,
    older_than: str | None = None,
    dry_run: bool = False,
    max_jobs: int | None = None,
    max_bytes: int | None = None,
) -> dict[str, Any]:
    """Jobs that ended longer ago than the window; beyond `max_jobs` or `max_bytes` the oldest ones too."""
    window, source = _window(ctx, older_than)
    max_jobs = ctx.config.get("gc", "max_jobs") if max_jobs is None else max_jobs
    max_bytes = ctx.config.get("gc", "max_bytes") if max_bytes is None else max_bytes
    sweep = _Sweep(ctx, time.time() - duration_ms(window, "older_than", bare_unit=None) / 1000, dry_run)
    for job_id in access.job_ids(ctx):  # newest first
        sweep.take(job_id, max_jobs, max_bytes)
    return {
        "root": ctx.store.path,
        "dry_run": dry_run,
        "older_than": window,
        "older_than_source": source,
        **sweep.totals(),
        # Whose they were cannot be told any more: nobody behind a wall hears of them
        "leftovers": store_gc.clean(ctx.store, dry_run=dry_run) if ctx.wall is None else 0,
    }


def _window(ctx: Context, given: str | None) -> tuple[str, str]:
    if given is not None:
        return given, "flag"
    return ctx.config.get("gc", "older_than"), "config" if ctx.config.is_set("gc", "older_than") else "default"


class _Sweep:
    """One pass over the root, from the newest job to the oldest."""

    def __init__(self, ctx: Context, oldest: float, dry_run: bool) -> None:
        self._ctx = ctx
        self._oldest = oldest
        self._dry_run = dry_run
        self._kept_jobs = self._kept_bytes = 0
        self._deleted = self._skipped = self._freed = self._foreign = 0
        self._jobs: list[dict[str, Any]] = []

    def take(self, job_id: str, max_jobs: int | None, max_bytes: int | None) -> None:
        try:
            with access.open_known(self._ctx, job_id) as job:
                self._judge(job, max_jobs, max_bytes)
        except (OSError, OutliveError) as error:
            self._skip(job_id, "unknown", f"it cannot be read: {error}", 0)

    def _judge(self, job: JobDir, max_jobs: int | None, max_bytes: int | None) -> None:
        found = truth.look(self._ctx.store, job)
        state = found.state
        if self._ctx.face == "mcp" and found.definition.owner != self._ctx.owner:
            self._foreign += 1
            return
        size = job.disk_bytes()
        if not state.finished:
            self._skip(job.job_id, state.state, "it cannot be read" if found.damage else "it has not ended", size)
            return
        ended = state.finished_at or state.updated_at
        if not ended:
            self._skip(job.job_id, state.state, "when it ended is not known", size)
            return
        why = "older_than" if seconds_of(ended) < self._oldest else None
        if why is None and max_jobs is not None and self._kept_jobs >= max_jobs:
            why = "max_jobs"
        if why is None and max_bytes is not None and self._kept_bytes + size > max_bytes:
            why = "max_bytes"
        if why is None:
            self._kept_jobs += 1
            self._kept_bytes += size
            self._skip(job.job_id, state.state, "it is within the window", size)
            return
        self._delete(job, state.state, why, size)

    def _delete(self, job: JobDir, state: str, why: str, size: int) -> None:
        if self._dry_run:
            self._freed += size
            self._note(job.job_id, state, "would_delete", why, size)
            return
        try:
            freed = store_gc.delete(self._ctx.store, job)
        except BlockingIOError:
            self._skip(job.job_id, state, "something it started still runs", size)
            return
        except OSError as error:
            self._skip(job.job_id, state, f"it could not be deleted: {error.strerror}", size)
            return
        self._deleted += 1
        self._freed += freed
        self._note(job.job_id, state, "deleted", why, freed)

    def _skip(self, job_id: str, state: str, why: str, size: int) -> None:
        self._skipped += 1
        self._note(job_id, state, "skipped", why, size)

    def _note(self, job_id: str, state: str, action: str, reason: str, size: int) -> None:
        self._jobs.append({"job_id": job_id, "state": state, "action": action, "reason": reason, "bytes": size})

    def totals(self) -> dict[str, Any]:
        """The counts, and the jobs they are about: what was deleted first, as many as an answer should hold."""
        ordered = sorted(self._jobs, key=lambda job: job["action"] == "skipped")
        return {
            "deleted": self._deleted,
            "skipped": self._skipped,
            "out_of_scope": self._foreign,
            "freed_bytes": self._freed,
            "jobs": ordered[: limits.GC_LISTED_JOBS],
            "truncated": len(ordered) > limits.GC_LISTED_JOBS,
        }


VERB = Verb(
    "gc",
    "Delete jobs that ended long ago.",
    gc,
    args=(
        Arg("older_than", STR, f"Delete what ended longer ago than this, such as 7d or 24h (default "
            f"{limits.GC_OLDER_THAN}).", metavar="DURATION"),
        Arg("dry_run", BOOL, "Only say what would be deleted.", default=False),
        Arg("max_jobs", INT, "Keep at most so many finished jobs, the newest.", minimum=0, metavar="N"),
        Arg("max_bytes", INT, "Keep finished jobs of at most so many bytes together, the newest.", minimum=0,
            metavar="N"),
    ),
    result="root dry_run older_than older_than_source deleted skipped out_of_scope freed_bytes jobs truncated leftovers",
    detail="Running jobs are never touched. A time needs a unit: s, m, h, d or w.",
    slow=True,
)  # fmt: skip
