"""End a job, if it still runs, and delete it."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from outlive import limits
from outlive.answers.ending import Deleted, DeletedJob, EndedJob
from outlive.errors import OutliveError
from outlive.jobs import acts, adoption, ending, lookup, several
from outlive.jobs.context import Context
from outlive.store.job_dir import JobDir


def remove(
    ctx: Context, *, job: Sequence[str] = (), tags: Sequence[str] = (), grace_ms: int = limits.KILL_GRACE_MS
) -> Deleted:
    """Kill the jobs, wait until all their processes are gone, and delete them."""

    def exactly(text: str) -> JobDir:
        return lookup.open_exactly(ctx, text, "remove", "a deletion cannot be taken back")

    with several.opened(ctx, job, tags, exactly, lookup.job_ids(ctx.caller)) as jobs:
        if len(jobs) == 1:
            return _remove(ctx, jobs[0], grace_ms)
        for one in jobs:  # else each would take its grace after that of the one before
            if adoption.inspect_before_kill(ctx, one).supervised:
                ending.end(ctx, one, signal.SIGTERM, grace_ms, 0)
        answers, summaries = [], []
        for one in jobs:
            name = one.read_meta().name
            try:
                answers.append(_remove(ctx, one, grace_ms))
                summaries.append(EndedJob(job_id=one.job_id, name=name, state=answers[-1].job.state))
            except OutliveError as error:
                if len(summaries) - len(answers) == len(jobs) - 1:
                    raise
                state = adoption.inspect_and_adopt(ctx, one).state.state
                summaries.append(EndedJob(job_id=one.job_id, name=name, state=state, error=error.message))
        answer = answers[0]
        answer.freed_bytes = sum(one.freed_bytes for one in answers)
        answer.jobs = summaries
        return answer


def _remove(ctx: Context, job_dir: JobDir, grace_ms: int) -> Deleted:
    acts.about_to(ctx, "remove", job_dir.job_id)
    inspection = adoption.inspect_before_kill(ctx, job_dir)
    if inspection.supervised:
        wait_s = (grace_ms + limits.KILL_WAIT_EXTRA_MS) / 1000
        ending.end(ctx, job_dir, signal.SIGTERM, grace_ms, wait_s, removing=True)
    state, freed = ending.delete(ctx, job_dir, ending=True)
    return Deleted(job=DeletedJob(job_id=job_dir.job_id, state=state), freed_bytes=freed)
