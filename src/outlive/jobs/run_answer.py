"""The answer of run, start and restart: what a job is, what it printed, and what to do next."""

from __future__ import annotations

import time

from outlive import limits
from outlive.core.ids import short_id
from outlive.core.units import timestamp
from outlive.jobs import job_answer
from outlive.render import window
from outlive.store.output.merged import Output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir

# The fields of `run_answer`, as the `result` of a verb names them.
RUN = (
    "job_id state snapshot stdout_log_path stderr_log_path waited_ms elapsed_ms env_vars output since_seq next_seq "
    "truncated gaps? alternate_screen? cursor? fired? timed_out? requested_ms? effective_ms? deduplicated? hint? "
    + job_answer.DESCRIBING
)


def run_answer(
    ctx: Context, found: Inspection, job: JobDir, *, began: float, max_bytes: int | None, tail_lines: int, raw: bool
) -> Waiting[dict[str, Any]]:
    """Return the answer of run, start and restart.

    `began` is when the call came (time.monotonic seconds).
    """
    others = job_answer.living(found, job)
    with Output(job) as output:
        budget = None if max_bytes else _budget(ctx)
        room = max_bytes or budget or limits.SHOWN_BYTES
        if job_answer.takes_long(found, output, 0, room):
            yield None
        shown = job_answer.new_output(found, job, output, 0, max_bytes=room, raw=raw)
        left = max(0, (budget or 0) - len(shown.text.encode("utf-8", "replace"))) // 2
        snapshot = window.tails(output, tail_lines, max_bytes or (limits.TAIL_BYTES if budget is None else left))
        lost = job_answer.losses(found, output)
        described = job_answer.describe(found, job, output)
        advised = job_answer.advice(found, job, output, described)
    if ctx.client is not None:
        from outlive.jobs import read_cursor

        read_cursor.mark_seen(ctx, job, shown.next_seq)
    answer = {
        "job_id": job.job_id,
        "state": found.state.state,
        **shown.to_dict(),
        **described,
        "started_at": found.state.started_at or found.definition.created_at or timestamp(),
        "snapshot": snapshot,
        **job_answer.paths(job),
        "waited_ms": round((time.monotonic() - began) * 1000),
        "elapsed_ms": job_answer.elapsed_ms(found),
        "env_vars": job_answer.env_vars(found),
        "descendants": others,
    }
    hint = lost.get("hint") or advised or next_step(found, others)
    hint = hint or shell_hint(found, snapshot)
    if found.definition.resources is not None:
        from outlive.jobs.diagnosis import use  # late: most jobs have no resources

        hint = " ".join(filter(None, (use.not_limited(found), hint)))
    return answer | ({"hint": hint} if hint else {})


def _budget(ctx: Context) -> int | None:
    """Return the most bytes that an answer shows, the snapshot included; None where each view has
    a bound of its own."""
    found: int | None = ctx.config.get("exec", "max_output_bytes")
    return limits.MCP_SHOWN_BYTES if found is None and ctx.face == "mcp" else found


# What shells say of a command that was written for another one
_SHELL_ERRORS = ("yntax error", "ad substitution", "unexpected EOF", "[[: not found", "unexpected operator",
    "source: not found", "shopt: not found", "declare: not found", "Illegal option", "event not found")  # fmt: skip


def shell_hint(found: Inspection, snapshot: dict[str, Any]) -> str | None:
    """Return which shell it was, if a failed command seems to have been written for another one."""
    shell = found.definition.shell
    if not shell or not found.state.exit_code:
        return None
    name = shell[0].rpartition("/")[2]
    lines = f"{snapshot['stderr_tail']}\n{snapshot['stdout_tail'] if found.definition.pty else ''}".splitlines()
    errors = (line for line in lines if line.startswith((f"{name}: ", f"{shell[0]}: ")))
    if any(error in line for line in errors for error in _SHELL_ERRORS):
        return f"The shell was `{' '.join(shell)}`."
    return None


def next_step(found: Inspection, descendants: int | None) -> str | None:
    """Return one sentence on what to do next, or None."""
    state = found.state
    if not state.finished:
        if state.state == "created":
            return "It was not started yet. Use wait to be told when it ends, kill to cancel it."
        return "It still runs. Use wait to be told when it ends, poll or log to read on, kill to end it."
    if descendants:
        job = f"job {short_id(found.definition.job_id)}"
        if descendants == 1:
            return f"1 process that {job} started is still alive; kill ends it, and its output still arrives."
        return f"{descendants} processes that {job} started are still alive; kill ends them, and their output still arrives."
    if state.reason == "timeout":
        return "It was ended by its time-out. Start it with a larger timeout (0: none) if it should run longer."
    if state.reason in ("lost", "reboot"):
        return "Its output up to then is complete. Check what it did before running it again."
    if state.reason == "launch" and state.errno is not None:
        words = found.definition.command
        if found.definition.shell is None and len(words[0].split()) > 1:  # ["ls -la | head"]
            return f"No shell ran: words in an array are a program and its arguments. Give one string: {words[0]}"
        return "The command never ran: check its name and PATH."
    return None
