"""End a job, if it still runs, and delete it."""

from __future__ import annotations

from outlive import limits
from outlive.answers.ending import Deleted, DeletedJob
from outlive.jobs import adoption, auditing, ending, lookup
from outlive.jobs.context import Context
from outlive.system.signals import signal


def remove(ctx: Context, *, job: str, grace_ms: int = limits.KILL_GRACE_MS) -> Deleted:
    """Kill the job, wait until all its processes are gone, and delete it."""
    with lookup.open_exactly(ctx, job, "remove", "a deletion cannot be taken back") as job_dir:
        auditing.note(ctx, "remove", job_dir.job_id)
        inspection = adoption.inspect_before_kill(ctx, job_dir)
        if inspection.supervised:
            wait_s = (grace_ms + limits.KILL_WAIT_EXTRA_MS) / 1000
            ending.end(ctx, job_dir, signal.SIGTERM, grace_ms, wait_s, removing=True)
        state, freed = ending.delete(ctx, job_dir, ending=True)
        return Deleted(job=DeletedJob(job_id=job_dir.job_id, state=state), freed_bytes=freed)
