"""Read the last lines of both streams."""

from __future__ import annotations

from outlive.answers import sentences
from outlive.answers.job import Job
from outlive.answers.reading import Tail
from outlive.jobs import adoption, job_answer, lookup
from outlive.jobs.context import Context
from outlive.jobs.interaction import shown_output
from outlive.render import window
from outlive.store.output.merged import Output

_STREAMS = {"both": (0, 1), "stdout": (0,), "stderr": (1,)}


def tail(
    ctx: Context, *, job: str, tail_lines: int, max_bytes: int, stream: str = "both", encoding: str | None = None
) -> Tail:
    """Return the end of stdout, of stderr or of both as exact text."""
    wanted = window.decoding(encoding)
    with lookup.open_job(ctx, job) as job_dir:
        inspection = adoption.inspect_and_adopt(ctx, job_dir)
        with Output(job_dir) as output:
            tails = window.tails(
                output, tail_lines, max_bytes, _STREAMS[stream], wanted, more=not inspection.state.finished
            )
            lost = job_answer.losses(inspection, output)
            cut = window.cut_tails(tails, output, more=not inspection.state.finished)
            unread = shown_output.not_utf_8(ctx, output)
        return Tail(
            job=Job(job_id=job_dir.job_id, state=inspection.state.state),
            ended=job_answer.how_ended(inspection, job_dir),
            timeout_ms=inspection.definition.timeout_ms,
            tails=tails,
            stdout_log_path=job_dir.log_path(0),
            stderr_log_path=job_dir.log_path(1),
            losses=lost,
            hint=sentences(cut, lost.hint, unread),
        )
