"""The conditions that a call names with which it starts a job. Imported only for those calls."""

from __future__ import annotations

from collections.abc import Iterable

from outlive.core.records import Definition
from outlive.jobs.conditions import of_job, parse
from outlive.jobs.conditions.job_wait import JobWait, wait_for
from outlive.jobs.context import Context
from outlive.store.job_dir import JobDir


class Until:
    """What a call waits for that starts a job. It is checked before anything is started. Errors: invalid_argument."""

    def __init__(self, given: Iterable[object], *, stop_at_prompts: bool) -> None:
        self._conditions = parse.parsed(given)
        if stop_at_prompts and all(one.name != "input" for one in self._conditions):
            self._conditions.append(parse.Condition("input"))

    def check(self, ctx: Context, definition: Definition) -> None:
        """Check that the caller may have looked at what the conditions name. Errors: denied."""
        reach = of_job.reach_of(ctx, self._conditions)
        if reach is not None:
            reach.require(definition, self._conditions)

    def wait(self, ctx: Context, job: JobDir, *, began: float, limit: float | None) -> JobWait:
        """Wait as the verb `wait` does, from the start of the job on. Returned is what was found, which is closed."""
        waited = JobWait(ctx, job, self._conditions, output_since=0, match_since=0)
        try:
            wait_for(ctx, [waited], began=began, limit=limit)
        finally:
            waited.close()
        return waited
