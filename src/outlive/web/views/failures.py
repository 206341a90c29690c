"""Where the output of a job says why it failed."""

from __future__ import annotations

from typing import Any

from outlive.jobs import adoption, job_answer, lookup
from outlive.jobs.context import Context
from outlive.render.failures import looked
from outlive.render.sources import Source, text_of
from outlive.store.output.merged import Output

_MOST = 200


def failures(ctx: Context, job_id: str) -> dict[str, Any]:
    """Return the lines that report a failure as `[position, text]`, those that say most first; how many there are; and
    what the test report of the job says. Errors: job_not_found."""
    with lookup.open_job(ctx, job_id) as job:
        inspection = adoption.inspect_and_adopt(ctx, job)
        with Output(job) as output:
            source = Source(job, output, more=not inspection.state.finished, raw=False, text=text_of(output, None))
            found, total = looked.failures(source, ctx.config.get("output", "problem_matcher") or (), _MOST)
        tests = job_answer.reported(inspection).tests if inspection.state.finished else None
    return {
        "job_id": job.job_id,
        "failures": [list(one) for one in found],
        "total": total,
        **({"tests": tests.to_dict()} if tests is not None else {}),
    }
