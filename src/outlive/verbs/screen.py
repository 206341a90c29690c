"""Show a job's terminal as it is now."""

from __future__ import annotations

from outlive.core.records import READ
from outlive.jobs import adoption, job_answer, lookup
from outlive.jobs.interaction import screen as of_job
from outlive.jobs.interaction import stdin
from outlive.store.output.merged import Output
from outlive.verbs.spec import JOB, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context


def screen(ctx: Context, *, job: str) -> dict[str, Any]:
    """Return the lines, the cursor and the title; a finished job's as it left them.

    Errors: not_a_pty.
    """
    with lookup.open_job(ctx, job) as found_job:
        found = adoption.inspect_and_adopt(ctx, found_job)
        stdin.require_pty(found, running=False)
        with Output(found_job) as output:
            shown = of_job.drawn(found, output)
            end, gone = output.end, output.stored < output.end
            waiting = job_answer.waiting(found, output)
            on = of_job.alternate_since(found, output, end) is not None
        alternate = on if shown.since and not shown.alternate else shown.alternate
        answer = {
            "job_id": found_job.job_id,
            "state": found.state.state,
            "timeout_ms": found.definition.timeout_ms,
            "lines": shown.lines,
            "cursor": {"row": shown.row, "column": shown.column, "visible": shown.cursor_visible},
            "title": shown.title,
            "alternate_screen": alternate,
            "cols": shown.cols,
            "rows": shown.rows,
            "next_seq": end,
            **waiting,
        }
    if not shown.exact:
        why = ": the output passed the job's quota, and what came before is gone" if gone else ""
        answer["warnings"] = [f"drawn from output position {shown.since} on; what was drawn before may be missing{why}"]
    return answer


VERB = Verb(
    "screen",
    "Show the terminal of a pty job as a person would see it now.",
    screen,
    args=(JOB,),
    right=READ,
    result="job_id state timeout_ms lines cursor title alternate_screen cols rows next_seq waiting_for_input prompt? echo? warnings?",
    slow=True,
)
