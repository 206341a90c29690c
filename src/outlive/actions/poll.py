"""New output and the state, at once or when there is something."""

from __future__ import annotations

import time

from outlive.actions import access, answers, window
from outlive.actions.line import Line
from outlive.actions.spec import JOB, MAX_BYTES, MS, RAW, SINCE_SEQ, Arg, Verb
from outlive.store.output import Output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.actions.driver import Waiting
    from outlive.actions.spec import Context
    from outlive.store.jobdir import JobDir


def poll(
    ctx: Context, *, job: str, since_seq: int | None = None, timeout_ms: int = 0, max_bytes: int, raw: bool = False
) -> Waiting[dict[str, Any]]:
    """Output since a position. With `timeout_ms`: wait so long for output or the end. Nothing is drained by reading."""
    began = time.monotonic()
    until = began + timeout_ms / 1000
    with access.open_job(ctx, job) as found_job:
        since = access.seen(ctx, found_job) if since_seq is None else since_seq
        line = Line(found_job, output=True) if timeout_ms else None
        try:
            while True:
                answer = _look(ctx, found_job, since, max_bytes, raw)
                if (
                    answer["output"]
                    or answer["waiting_for_input"]
                    or answer["state"] not in ("running", "created")
                    or time.monotonic() >= until
                ):
                    break
                assert line is not None
                yield from line.pause(until)
        finally:
            if line is not None:
                line.close()
        access.mark_seen(ctx, found_job, answer["next_seq"])
        return answer | {"waited_ms": round((time.monotonic() - began) * 1000)}


def _look(ctx: Context, job: JobDir, since: int, max_bytes: int, raw: bool) -> dict[str, Any]:
    found = access.look(ctx, job)  # the state first: what was there at the end is then seen below
    with Output(job) as output:
        more = not found.state.finished
        shown = window.show(job, output, since, output.end, max_bytes=max_bytes, raw=raw, more=more)
        answer = {
            "job_id": job.job_id,
            "state": found.state.state,
            **shown.to_dict(),
            **answers.waiting(found, output),
            **answers.unresponsive(found),
            "idle_ms": answers.idle_ms(found, output),
            "retry_after_ms": answers.retry_after_ms(found, output),
            "timeout_ms": found.definition.timeout_ms,
        }
        if not shown.text and output.end:
            answer["snippet"] = window.snippet(output)
        lost = answers.losses(found, output)
    if found.state.finished:
        answer |= answers.outcome(found)
        answer["descendants"] = len(access.descendants(found, job))
    if found.state.message:
        answer["message"] = found.state.message
    hint = answers.input_hint(found, answer)
    return answer | ({"hint": hint} if hint else {}) | lost


VERB = Verb(
    "poll",
    "New output since a position, and the state.",
    poll,
    args=(
        JOB,
        SINCE_SEQ,
        Arg(
            "timeout_ms",
            MS,
            "Wait at most this long for output, a prompt or the end; 0: not at all.",
            default=0,
            minimum=0,
            metavar="DURATION",
        ),
        MAX_BYTES,
        RAW,
    ),
    result="job_id state output since_seq next_seq truncated gaps? waiting_for_input prompt? echo? supervisor? supervisor_pid? idle_ms retry_after_ms timeout_ms "
    "waited_ms snippet? exit_code? signal? reason? ended_by? errno? finished_at? duration_ms? descendants? message? dropped_bytes? missing_bytes? hint? "
    "requested_ms? effective_ms?",
)
