"""What jobs ask a person: the prompts of the list, and whether one is still asked."""

from __future__ import annotations

from typing import Any

from outlive.errors import OutliveError
from outlive.jobs import adoption, job_answer, lookup
from outlive.jobs.context import Context
from outlive.store.inspection.inspection import Inspection
from outlive.store.output.merged import Output


def question(inspection: Inspection, output: Output) -> dict[str, Any]:
    """Return what a running job waits for: `prompt`, `echo`, and `asked_at`, which is another one for each question."""
    waits = job_answer.waiting(inspection, output)
    if inspection.state.waiting is None or not waits.waiting_for_input:
        return {}
    asked = {"prompt": waits.prompt, "echo": waits.echo, "asked_at": inspection.state.waiting.at}
    return {name: value for name, value in asked.items() if value is not None}


def require_asked(ctx: Context, job_id: str, asked_at: str) -> None:
    """Errors: invalid_state unless the job still waits for the answer to this question."""
    with lookup.open_job(ctx, job_id) as job:
        inspection = adoption.inspect_and_adopt(ctx, job)
        with Output(job) as output:
            asked = question(inspection, output)
    if asked.get("asked_at") != asked_at:
        raise OutliveError(
            "invalid_state",
            "it does not wait for an answer to this question any more",
            hint="Nothing was written. Look at what it asks now.",
        )
