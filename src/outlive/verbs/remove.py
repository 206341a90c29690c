"""End a job, if it still runs, and delete it."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from outlive import limits
from outlive.answers.ending import Deleted, DeletedJob
from outlive.jobs import acts, adoption, ending, lookup, several
from outlive.jobs.context import Context
from outlive.store.job_dir import JobDir


def remove(
    ctx: Context, *, job: Sequence[str] = (), tags: Sequence[str] = (), grace_ms: int = limits.KILL_GRACE_MS
) -> Deleted:
    """Kill the jobs, wait until all their processes are gone, and delete them."""

    def exactly(text: str) -> JobDir:
        return lookup.open_exactly(ctx, text, "remove", "a deletion cannot be taken back")

    with several.opened(ctx, job, tags, exactly, lookup.job_ids(ctx.caller)) as jobs:
        for one in jobs:
            acts.about_to(ctx, "remove", one.job_id)
        if len(jobs) == 1:
            return _remove(ctx, jobs[0], grace_ms)
        for one in jobs:  # else each would take its grace after that of the one before
            if adoption.inspect_before_kill(ctx, one).supervised:
                ending.end(ctx, one, signal.SIGTERM, grace_ms, 0)
        return several.deleted(ctx, jobs, lambda one: _remove(ctx, one, grace_ms))


def _remove(ctx: Context, job_dir: JobDir, grace_ms: int) -> Deleted:
    inspection = adoption.inspect_before_kill(ctx, job_dir)
    if inspection.supervised:
        wait_s = (grace_ms + limits.KILL_WAIT_EXTRA_MS) / 1000
        ending.end(ctx, job_dir, signal.SIGTERM, grace_ms, wait_s, removing=True)
    state, freed = ending.delete(ctx, job_dir, ending=True)
    return Deleted(job=DeletedJob(job_id=job_dir.job_id, state=state), freed_bytes=freed)
