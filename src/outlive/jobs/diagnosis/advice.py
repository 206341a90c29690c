"""What to do about a job that waits for input, is silent or has failed."""

from __future__ import annotations

from outlive import limits
from outlive.answers import sentences
from outlive.answers.job import Prompt, Stopped
from outlive.jobs.context import Context
from outlive.jobs.diagnosis import elsewhere, exit_code, failure, sandboxed, silence
from outlive.jobs.interaction import keyboard, prompt
from outlive.jobs.permission import pending
from outlive.store.inspection.inspect import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output

_JOINING = "|;&\n"  # without one of these a string is one command


def of(
    ctx: Context,
    inspection: Inspection,
    job: JobDir,
    output: Output,
    asks: Prompt,
    supervisor: Stopped | None,
    silent_ms: int | None,
) -> str | None:
    """Return what to do about a job that waits for input, is silent or has failed; None for others.

    `asks` and `supervisor` are what `waiting` and `stopped` of job_answer say, `silent_ms` what `idle_ms` says.
    """
    if supervisor is not None:
        pid = supervisor.supervisor_pid
        return (
            f"Its supervisor (pid {pid}) is stopped: output is not taken, its end is not seen, and write is not "
            f"answered until it goes on. Nothing is lost. `kill -CONT {pid}` continues it; kill ends the job all the same."
        )
    if asks.keyboard:
        return keyboard.hint(asks.keyboard)
    if asks.waiting_for_input:
        return prompt.hint(inspection, asks)
    hint = None
    if inspection.definition.approval is not None:
        hint = pending.hint(job, inspection)
    if hint is None and inspection.elsewhere:
        hint = elsewhere.hint(inspection, job)
    if hint:
        return hint
    if silent_ms is not None and silent_ms >= limits.SILENT_MS:
        return silence.hint(inspection, job, output, silent_ms)
    return _advice_at_end(ctx, inspection, output)


def _advice_at_end(ctx: Context, inspection: Inspection, output: Output) -> str | None:
    """Return why a job may have failed, or whose exit code it has; None for others."""
    hint = None
    if not inspection.state.finished or inspection.state.exit_code is None:
        return None
    if inspection.state.exit_code:
        hint = failure.hint(inspection, output)
    if hint is None and inspection.definition.shell is not None:
        text, code = inspection.definition.command[0], inspection.state.exit_code
        if code > exit_code.SIGNALLED or any(sign in text for sign in _JOINING):
            hint = exit_code.hint(ctx, inspection, output)
            if hint is not None and exit_code.MAY_HAVE_FAILED in hint and inspection.definition.sandbox is not None:
                hint = sentences(hint, sandboxed.hint(inspection, output))
    if inspection.definition.sandbox is not None and (hint is None or not inspection.state.exit_code):
        gone = sandboxed.gone(inspection.definition.sandbox, " ".join(inspection.definition.command))
        hint = sentences(hint, gone)
    return hint
