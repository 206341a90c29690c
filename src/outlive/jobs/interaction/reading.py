"""Read what a job printed since a position, and its state: the answer of poll."""

from __future__ import annotations

from collections.abc import Sequence

from outlive import limits
from outlive.answers import ABSENT, advice
from outlive.answers.advice import Advice, Advised
from outlive.answers.job import Job
from outlive.answers.reading import Polled, Reading, Since
from outlive.jobs import adoption, job_answer
from outlive.jobs.context import Context
from outlive.jobs.interaction import shown_output
from outlive.render.sources import View
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.system.waiting import checkpoint


def read(ctx: Context, job: JobDir, since: int, view: View) -> Polled:
    """Return the output from `since` on, and what is true of the job."""
    # First the state: the output read below is then complete at the end
    return of(ctx, adoption.inspect_and_adopt(ctx, job), job, since, view)


def of(
    ctx: Context, inspection: Inspection, job: JobDir, since: int, view: View, noted: Sequence[Advice] = ()
) -> Polled:
    """Return the output from `since` on, and what this inspection says of the job. `noted`: what the caller says of it
    besides."""
    state = inspection.state
    with Output(job) as output:
        if shown_output.takes_long(inspection, output, since, view.max_bytes):
            checkpoint()
        reading = Reading(
            job=Job(job_id=job.job_id, state=state.state),
            shown=shown_output.new_output(inspection, job, output, since, view),
            asks=job_answer.waiting(inspection, output),
            stopped=job_answer.stopped(inspection),
            elsewhere=job_answer.elsewhere(inspection, job),
            idle_ms=job_answer.idle_ms(inspection, output),
        )
        snippet = shown_output.snippet(inspection, output) if not reading.shown.output and output.end else None
        lost = job_answer.losses(inspection, output)
        said = job_answer.said(ctx, inspection, job, output, reading.asks, reading.stopped)
        unread = shown_output.not_utf_8(ctx, output)
    left = job_answer.living(inspection, job) if state.finished else None
    found = [
        *noted,
        *said.advice,
        *advice.left_running(job.job_id, left),
        *advice.told(advice.LOST, lost.hint),
        *advice.told(advice.ENCODING, unread),
    ]
    became = Since(
        timeout_ms=inspection.definition.timeout_ms,
        outcome=job_answer.outcome(inspection, job),
        of_parts=said.fields,
        descendants=left if state.finished else ABSENT,
        message=state.message or None,
        approval=job_answer.approval_of(inspection, job),
        advised=Advised.made_of(found),
        losses=lost,
    )
    return Polled(
        reading=reading, retry_after_ms=_retry_after_ms(reading.idle_ms), since=became, waited_ms=0, snippet=snippet
    )


def _retry_after_ms(quiet_ms: int | None) -> int | None:
    """Return half of the quiet so far, at least 1 s and at most 1 min: it grows with each poll that finds nothing. None for
    a job that does not run."""
    if quiet_ms is None:
        return None
    low, high = limits.RETRY_MS
    return min(high, max(low, quiet_ms // 2))
