"""Delete a finished job, or all of the caller's own."""

from __future__ import annotations

from outlive.answers.ending import ALL, Deleted, DeletedJob
from outlive.errors import OutliveError
from outlive.jobs import acts, adoption, ending, lookup, several
from outlive.jobs.context import Context
from outlive.store.job_dir import JobDir


def clear(ctx: Context, *, job: str) -> Deleted:
    """Delete the directory of a finished job, with its output, or those of all of the caller's own."""
    if job == ALL:
        return several.deleted(ctx, several.ended(ctx), lambda one: _delete(ctx, one))
    with lookup.open_exactly(ctx, job, "clear", "a deletion cannot be taken back") as job_dir:
        inspection = adoption.inspect_and_adopt(ctx, job_dir)
        if not inspection.state.finished:
            raise OutliveError(
                "invalid_state",
                f"the job is {inspection.state.state}; clear deletes finished jobs",
                hint="remove ends it first.",
            )
        return _delete(ctx, job_dir)


def _delete(ctx: Context, job_dir: JobDir) -> Deleted:
    acts.about_to(ctx, "clear", job_dir.job_id)
    state, freed = ending.delete(ctx, job_dir)
    return Deleted(job=DeletedJob(job_id=job_dir.job_id, state=state), freed_bytes=freed)
