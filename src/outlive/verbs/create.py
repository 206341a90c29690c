"""Define a job without starting it."""

from __future__ import annotations

from outlive.core.ids import new_id, short_id
from outlive.jobs import definition, job_answer, starting
from outlive.verbs import shared_args
from outlive.verbs.spec import Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context


def create(ctx: Context, **args: Any) -> dict[str, Any]:
    """Store a definition, which `start` runs later, once."""
    plan = definition.plan(ctx, new_id(), start_now=False, **args)
    ctx.note_start("create", plan)
    new = starting.make(ctx, plan, live=False)
    try:
        return {
            "job_id": plan.definition.job_id,
            "state": "created",
            "short_id": short_id(plan.definition.job_id),
            "name": plan.definition.name,
            "created_at": plan.definition.created_at,
            **job_answer.paths(new.dir),
            "hint": "start runs it.",
        }
    finally:
        new.close()


VERB = Verb(
    "create",
    "Define a job without starting it.",
    create,
    args=shared_args.DEFINITION,
    result="job_id state short_id name created_at stdout_log_path stderr_log_path hint",
)
