"""`log compare`: the lines of a log that another run of the same command did not print."""

from __future__ import annotations

from contextlib import closing

from outlive.answers import sentences
from outlive.answers.output import Excerpt
from outlive.answers.reading import LogLines
from outlive.core.ids import short_id
from outlive.core.quoted import cut
from outlive.core.records import Definition
from outlive.errors import argument, invalid
from outlive.jobs.context import Context
from outlive.part import LogCall
from outlive.parts.failures.runs import alike_runs, changes, earlier_runs
from outlive.store.output.line_index import Lines
from outlive.store.output.merged import Output
from outlive.system.waiting import checkpoint

_STEP_CHARS = 60
_GOES_WITHOUT = ("search", "offset", "since_seq", "encoding", "times")


def lines(log: LogCall, text: str) -> LogLines:
    """Return the lines that the run `text` did not print; without such a run, none. Errors: invalid_argument."""
    for name in _GOES_WITHOUT:
        if log.given[name] is not None:
            message = f"{argument('compare')} goes without {argument(name)}: it compares the whole output"
            raise invalid("compare", message)
    ctx, definition = log.ctx, log.definition
    run, how_found = earlier_runs.named(ctx, definition, text), None
    if run is None and (found := alike_runs.same_step(ctx, definition, passed=text == earlier_runs.PASSED)):
        run = found.job
        step = cut(found.step.shown, _STEP_CHARS)
        how_found = f"No earlier run of the whole command is known: compared is the last of `{step}` here."
    log.lines.count()
    if run is None:
        end = log.lines.end
        return LogLines(
            shown=Excerpt(output="", since_seq=end, next_seq=end, truncated=False),
            first_line=None,
            last_line=None,
            total_lines=log.lines.total(),
            hint=_nothing(ctx, definition, text),
        )
    added = ctx.config.get("output", "problem_matcher")
    with run, Output(run) as output, closing(Lines(run, output, log.stream)) as lines:
        before = output.steady(changes.Printed, lines, added)
        compared = earlier_runs.described(run.job_id, run.read_state())
        checkpoint()
        with closing(Lines(log.output.job, log.output, log.stream)) as own:  # as UTF-8, whatever the output is
            now = log.output.steady(changes.Printed, own, added)
            checkpoint()
            how = {name: log.given[name] for name in ("limit", "max_bytes", "raw")}
            shown = changes.lines(own, now, before, compared, **how)
    shown.hint = sentences(how_found, shown.hint)
    return shown


def _nothing(ctx: Context, definition: Definition, text: str) -> str:
    """Return that there is no run to compare with, and which job may be meant."""
    ended = " with 0" if text == earlier_runs.PASSED else ""
    none = f"No earlier run of this command in this directory has ended{ended}, so nothing is compared; "
    other = alike_runs.nearest(ctx.caller, definition)
    if other is None:
        return none + "a job can be named."
    job_id, name = other
    return f"{none}{short_id(job_id)} ({name}) is the newest job here that ran the same program."
