"""The output of a job as answers show it."""

from __future__ import annotations

from outlive import limits, parts
from outlive.answers.output import Shown
from outlive.jobs.context import Context, Principal
from outlive.jobs.interaction import screen
from outlive.render import ends, window
from outlive.render.sources import View
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output

# Above one of these an answer is made in a thread of the server
_QUICK_BYTES = 32_768
_QUICK_RUNS = 4_096  # of one stream without the other between


def new_output(inspection: Inspection, job: JobDir, output: Output, since: int, view: View) -> Shown:
    """Return the output from `since` on. While a program fills its terminal, this ends with the
    screen, unless `raw`."""
    shown = None
    if inspection.state.terminal and not view.raw:
        shown = screen.instead_of_output(inspection, job, output, since, view.max_bytes)
    state = inspection.state
    # What a program prints that answers what was typed was asked for, all of it
    takes_input = inspection.definition.pty or inspection.definition.stdin == "open"
    return shown or window.show(
        job,
        output,
        since,
        output.end,
        view.changed(goes_on=not (state.finished or takes_input)),
        more=not state.finished,
        failed=state.finished and state.ended_badly,
    )


def takes_long(inspection: Inspection, output: Output, since: int, max_bytes: int) -> bool:
    """Return whether `new_output` or `previous` may take more than some hundredths of a second."""
    new = output.end - since
    if new > max_bytes or inspection.state.ended_badly:  # lines are chosen, or runs compared
        return True
    return (output.end if inspection.state.terminal else new) > _QUICK_BYTES or output.runs > _QUICK_RUNS


def snippet(inspection: Inspection, output: Output) -> str:
    """Return the end of the output; while a program fills its terminal, the screen."""
    if inspection.state.terminal:
        filled = screen.alternate_since(inspection, output, output.end) is not None
        drawn = screen.drawn(inspection, output) if filled else None
        if drawn is not None:
            return screen.text(drawn, limits.SNIPPET_BYTES)
    return ends.snippet(output)


def telling_line(caller: Principal, inspection: Inspection, output: Output) -> str | None:
    """Return the line that says why, of a command that exited with another code than 0; of others the last line that is
    not blank. None if there is none."""
    return why(caller, inspection, output) or ends.last_line(output)


def why(caller: Principal, inspection: Inspection, output: Output) -> str | None:
    """Return the line of the output that says why a command exited with another code than 0; None if none does."""
    if not inspection.state.exit_code:
        return None
    line: str | None = parts.first("telling", output, caller.config)
    return line


def not_utf_8(ctx: Context, output: Output) -> str | None:
    """Return how to read the bytes of the output that this answer shows as U+FFFD; None if there are none, or no part knows."""
    if not output.not_utf_8:
        return None
    how: str | None = parts.first("not_utf_8", ctx, output)
    return how
