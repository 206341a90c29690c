"""Show a job's terminal as it is now."""

from __future__ import annotations

from outlive.answers import sentences
from outlive.answers.job import Job
from outlive.answers.output import Cursor
from outlive.jobs import adoption, job_answer, lookup
from outlive.jobs.context import Context
from outlive.jobs.interaction import screen as of_job
from outlive.jobs.interaction import stdin
from outlive.parts.terminal import drawing, keyboard
from outlive.parts.terminal.answers import Screen
from outlive.render import head_and_tail
from outlive.store.output.merged import Output


def screen(ctx: Context, *, job: str, offset: int | None = None, max_bytes: int | None = None) -> Screen:
    """Return the lines, the cursor and the title; a finished job's as it left them.

    Of a screen that is larger than the budget, return the rows around the cursor, or those from `offset` on.

    Errors: not_a_pty."""
    with lookup.open_job(ctx, job) as job_dir:
        inspection = adoption.inspect_and_adopt(ctx, job_dir)
        stdin.require_pty(inspection, running=False)
        with Output(job_dir) as output:
            shown = drawing.of_job(inspection, output)
            end, gone = output.end, output.stored < output.end
            waiting = job_answer.waiting(inspection, output)
            hold = keyboard.holder(job_dir) if waiting.keyboard else None
            on = of_job.alternate_since(inspection, output, end) is not None
        first, stop = _rows(shown.lines, shown.row, offset, max_bytes)
        alternate = on if shown.since and not shown.alternate else shown.alternate
        answer = Screen(
            job=Job(job_id=job_dir.job_id, state=inspection.state.state),
            timeout_ms=inspection.definition.timeout_ms,
            lines=shown.lines[first:stop],
            cursor=Cursor(row=shown.row, column=shown.column, visible=shown.cursor_visible),
            title=shown.title,
            alternate_screen=alternate,
            cols=shown.cols,
            rows=shown.rows,
            next_seq=end,
            asks=waiting,
            hint=None if hold is None else hold.hint,
        )
    if first or stop < len(shown.lines):
        answer.first_row = first
        rows = f"Rows {first} to {stop - 1} of 0 to {shown.rows - 1} are shown: offset shows those from a row on."
        answer.hint = sentences(answer.hint, rows)
    if not shown.exact:
        why = ": the output passed the job's quota, and what came before is gone" if gone else ""
        answer.warnings = [f"drawn from output position {shown.since} on; what was drawn before may be missing{why}"]
    return answer


def _rows(lines: list[str], cursor: int, offset: int | None, max_bytes: int | None) -> tuple[int, int]:
    """Return the first row that is shown and the one behind the last."""
    sizes = [len(line.encode("utf-8", "replace")) + len('"",') for line in lines]
    if offset is not None or max_bytes is None or sum(sizes) <= max_bytes:
        first = min(offset or 0, max(0, len(lines) - 1))
        return first, first + head_and_tail.fitting(sizes[first:], max_bytes)
    stop = min(cursor, len(lines) - 1) + 1
    first = stop - head_and_tail.fitting(sizes[stop - 1 :: -1], max_bytes)
    return first, first + head_and_tail.fitting(sizes[first:], max_bytes)
