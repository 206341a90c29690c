"""Delete a finished job."""

from __future__ import annotations

from outlive.answers.ending import Deleted, DeletedJob
from outlive.errors import OutliveError
from outlive.jobs import acts, adoption, ending, lookup
from outlive.jobs.context import Context


def clear(ctx: Context, *, job: str) -> Deleted:
    """Delete the directory of a finished job, with its output."""
    with lookup.open_exactly(ctx, job, "clear", "a deletion cannot be taken back") as job_dir:
        inspection = adoption.inspect_and_adopt(ctx, job_dir)
        if not inspection.state.finished:
            raise OutliveError(
                "invalid_state",
                f"the job is {inspection.state.state}; clear deletes finished jobs",
                hint="remove ends it first.",
            )
        acts.about_to(ctx, "clear", job_dir.job_id)
        state, freed = ending.delete(ctx, job_dir)
        return Deleted(job=DeletedJob(job_id=job_dir.job_id, state=state), freed_bytes=freed)
