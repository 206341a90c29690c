"""Tell what a job uses."""

from __future__ import annotations

from outlive.core.records import READ
from outlive.errors import OutliveError
from outlive.jobs import adoption, job_answer, lookup
from outlive.jobs.diagnosis import use
from outlive.store.output.merged import Output
from outlive.verbs.spec import JOB, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting


def usage(ctx: Context, *, job: str) -> Waiting[dict[str, Any]]:
    """Return what a job uses now, or what it used."""
    with lookup.open_job(ctx, job) as found_job:
        found = adoption.inspect_and_adopt(ctx, found_job)
        there = yield from job_answer.looked_elsewhere(found, found_job, "usage")
        with Output(found_job) as output:
            used = there.get("usage") or use.of_job(found, found_job, output, job_answer.used(found))
        if used is None:
            raise OutliveError("invalid_state", "its command has not run, so it used nothing")
        resources = found.definition.resources and use.resources_of(found)
        hint = use.not_limited(found)
        return {
            "job_id": found_job.job_id,
            **job_answer.state_and_end(found),
            "usage": used,
            **({"resources": resources} if resources else {}),
            **({"hint": hint} if hint else {}),
        }


VERB = Verb(
    "usage",
    "Tell what a job uses: time, memory, processes, output.",
    usage,
    args=(JOB,),
    right=READ,
    result="job_id state exit_code? signal? reason? usage resources? hint?",
    detail="Each figure names its source: cgroup is exact, rusage is the kernel's sum over ended processes, sampled "
    "is a look at the living ones. Nothing is measured while no call asks.",
)
