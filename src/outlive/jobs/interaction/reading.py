"""Read what a job printed since a position, and its state: the answer of poll."""

from __future__ import annotations

from outlive.jobs import adoption, job_answer
from outlive.store.output.merged import Output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.store.job_dir import JobDir

# The fields of `read` besides the job's id and state, as the `result` of a verb names them.
READ = (
    "output since_seq next_seq truncated gaps? alternate_screen? cursor? waiting_for_input prompt? echo? keyboard? supervisor? supervisor_pid? "
    "idle_ms exit_code? signal? reason? ended_by? errno? usage? finished_at? duration_ms? descendants? message? approval? dropped_bytes? missing_bytes? "
    "host? queue? engine? reachable? unreachable_since? machine? "
)


def read(ctx: Context, job: JobDir, since: int, max_bytes: int, raw: bool) -> Waiting[dict[str, Any]]:
    """Return the output from `since` on, and what is true of the job."""
    found = adoption.inspect_and_adopt(ctx, job)  # first the state: the output read below is then complete at the end
    with Output(job) as output:
        if job_answer.takes_long(found, output, since, max_bytes):
            yield None
        shown = job_answer.new_output(found, job, output, since, max_bytes=max_bytes, raw=raw)
        answer = {
            "job_id": job.job_id,
            "state": found.state.state,
            **shown.to_dict(),
            **job_answer.waiting(found, output),
            **job_answer.unresponsive(found),
            **job_answer.place(found, job),
            "idle_ms": job_answer.idle_ms(found, output),
            "retry_after_ms": job_answer.retry_after_ms(found, output),
            "timeout_ms": found.definition.timeout_ms,
        }
        if not shown.text and output.end:
            answer["snippet"] = job_answer.snippet(found, output)
        lost = job_answer.losses(found, output)
        hint = job_answer.advice(found, job, output, answer)
    if found.state.finished:
        answer |= job_answer.outcome(found)
        answer["descendants"] = job_answer.living(found, job)
    if found.state.message:
        answer["message"] = found.state.message
    approval = job_answer.approval_of(found, job)
    answer |= {"approval": approval} if approval else {}
    return answer | ({"hint": hint} if hint else {}) | lost
