"""Read new output and the state, at once or when there is something new."""

from __future__ import annotations

import time

from outlive.jobs import adoption, job_answer, lookup, processes, read_cursor
from outlive.jobs.control_client import ControlClient
from outlive.render import window
from outlive.store.output.merged import Output
from outlive.verbs.spec import JOB, MAX_BYTES, MS, RAW, SINCE_SEQ, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.store.job_dir import JobDir


def poll(
    ctx: Context, *, job: str, since_seq: int | None = None, timeout_ms: int = 0, max_bytes: int, raw: bool = False
) -> Waiting[dict[str, Any]]:
    """Return the output since a position.

    Wait at most `timeout_ms` for output or the end. Reading consumes nothing.
    """
    began = time.monotonic()
    until = began + timeout_ms / 1000
    with lookup.open_job(ctx, job) as found_job:
        since = read_cursor.seen(ctx, found_job) if since_seq is None else since_seq
        control = ControlClient(found_job, output=True) if timeout_ms else None
        try:
            while True:
                answer = _read(ctx, found_job, since, max_bytes, raw)
                if (
                    answer["output"]
                    or answer["waiting_for_input"]
                    or answer["state"] not in ("running", "created")
                    or time.monotonic() >= until
                ):
                    break
                assert control is not None
                yield from control.pause(until)
        finally:
            if control is not None:
                control.close()
        read_cursor.mark_seen(ctx, found_job, answer["next_seq"])
        return answer | {"waited_ms": round((time.monotonic() - began) * 1000)}


def _read(ctx: Context, job: JobDir, since: int, max_bytes: int, raw: bool) -> dict[str, Any]:
    found = adoption.inspect_and_adopt(ctx, job)  # first the state: the output read below is then complete at the end
    with Output(job) as output:
        more = not found.state.finished
        shown = window.show(job, output, since, output.end, max_bytes=max_bytes, raw=raw, more=more)
        answer = {
            "job_id": job.job_id,
            "state": found.state.state,
            **shown.to_dict(),
            **job_answer.waiting(found, output),
            **job_answer.unresponsive(found),
            "idle_ms": job_answer.idle_ms(found, output),
            "retry_after_ms": job_answer.retry_after_ms(found, output),
            "timeout_ms": found.definition.timeout_ms,
        }
        if not shown.text and output.end:
            answer["snippet"] = window.snippet(output)
        lost = job_answer.losses(found, output)
    if found.state.finished:
        answer |= job_answer.outcome(found)
        answer["descendants"] = len(processes.descendants(found, job))
    if found.state.message:
        answer["message"] = found.state.message
    hint = job_answer.input_hint(found, answer)
    return answer | ({"hint": hint} if hint else {}) | lost


VERB = Verb(
    "poll",
    "Read new output since a position, and the state.",
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
            mcp_help="wait this long for output, a prompt or the end",
        ),
        MAX_BYTES,
        RAW,
    ),
    result="job_id state output since_seq next_seq truncated gaps? waiting_for_input prompt? echo? supervisor? supervisor_pid? idle_ms retry_after_ms timeout_ms "
    "waited_ms snippet? exit_code? signal? reason? ended_by? errno? finished_at? duration_ms? descendants? message? dropped_bytes? missing_bytes? hint? "
    "requested_ms? effective_ms?",
)
