"""Replace a job's tags."""

from __future__ import annotations

from outlive.answers.job import Job
from outlive.answers.listing import Tagged
from outlive.core.labels import check_tags
from outlive.core.records import Definition
from outlive.jobs import acts, adoption, lookup
from outlive.jobs.context import Context


def tag_set(ctx: Context, *, job: str, tags: list[str] | tuple[str, ...] = ()) -> Tagged:
    """Set exactly these tags; none clears them."""
    wanted = check_tags(list(tags))
    with lookup.open_job(ctx, job) as job_dir:
        acts.about_to(ctx, "tag set", job_dir.job_id, tags=wanted)
        definition = lookup.change_meta(job_dir, lambda old: Definition.replace(old, tags=wanted))
        state = adoption.inspect_and_adopt(ctx, job_dir).state.state
        return Tagged(job=Job(job_id=job_dir.job_id, state=state), tags=definition.tags)
