"""Define a job without starting it."""

from __future__ import annotations

from typing import Any

from outlive.answers.job import Job
from outlive.answers.starting import Created
from outlive.core.ids import new_id, short_id
from outlive.jobs import acts, definition
from outlive.jobs.context import Context
from outlive.jobs.starting import making


def create(ctx: Context, **args: Any) -> Created:
    """Store a definition, which `start` runs later, once."""
    plan = definition.plan(ctx, new_id(), start_now=False, **args)
    acts.about_to_start(ctx, "create", plan)
    new = making.make(ctx, plan, live=False)
    try:
        return Created(
            job=Job(job_id=plan.definition.job_id, state="created"),
            short_id=short_id(plan.definition.job_id),
            name=plan.definition.name,
            created_at=plan.definition.created_at,
            stdout_log_path=new.dir.log_path(0),
            stderr_log_path=new.dir.log_path(1),
            hint="start runs it.",
        )
    finally:
        new.close()
