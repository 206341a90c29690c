"""Change the size of a job's terminal."""

from __future__ import annotations

from outlive.answers.job import Job
from outlive.core.members import number_of
from outlive.jobs import acts, adoption, lookup
from outlive.jobs.context import Context
from outlive.jobs.control_client import ask
from outlive.jobs.definition import require_input
from outlive.jobs.interaction import stdin
from outlive.parts.terminal.answers import Resized


def resize(ctx: Context, *, job: str, cols: int, rows: int) -> Resized:
    """Set the size; the program gets SIGWINCH. Errors: not_a_pty, invalid_argument, stdin_closed, io_error."""
    with lookup.open_job(ctx, job) as job_dir:
        inspection = adoption.inspect_and_adopt(ctx, job_dir)
        stdin.require_pty(inspection)
        if ctx.face == "mcp":
            require_input(ctx, inspection.definition)
        acts.about_to(ctx, "resize", job_dir.job_id, cols=cols, rows=rows)
        answer = ask(job_dir, {"op": "resize", "cols": cols, "rows": rows})
        state = adoption.inspect_and_adopt(ctx, job_dir).state.state
        return Resized(
            job=Job(job_id=job_dir.job_id, state=state),
            timeout_ms=inspection.definition.timeout_ms,
            cols=number_of(answer, "cols"),
            rows=number_of(answer, "rows"),
        )
