"""Define a job without starting it."""

from __future__ import annotations

from outlive.actions import answers, define, launching
from outlive.actions.spec import Verb
from outlive.job import new_id, short_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.actions.spec import Context


def create(ctx: Context, **args: Any) -> dict[str, Any]:
    """Store a definition; `start` runs it later, once."""
    plan = define.plan(ctx, new_id(), start_now=False, **args)
    new = launching.make(ctx, plan, live=False)
    try:
        return {
            "job_id": plan.definition.job_id,
            "state": "created",
            "short_id": short_id(plan.definition.job_id),
            "name": plan.definition.name,
            "created_at": plan.definition.created_at,
            **answers.paths(new.dir),
            "hint": "start runs it.",
        }
    finally:
        new.close()


VERB = Verb(
    "create",
    "Define a job without starting it.",
    create,
    args=define.ARGS,
    result="job_id state short_id name created_at stdout_log_path stderr_log_path hint",
)
