"""Find what to say about a job that waits for input, is silent or has failed."""

from __future__ import annotations

from outlive import limits
from outlive.answers import advice, sentences
from outlive.answers.advice import Advice
from outlive.answers.job import Prompt, Stopped
from outlive.jobs.context import Context, Principal
from outlive.jobs.diagnosis import elsewhere, exit_code, failure, sandboxed, silence
from outlive.jobs.diagnosis.causes import own_words, taken_port
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
) -> list[Advice]:
    """Return what to do about a job that waits for input, is silent or has failed; nothing for others.

    `asks` and `supervisor` are what `waiting` and `stopped` of job_answer say, `silent_ms` what `idle_ms` says.
    """
    if supervisor is not None:
        pid = supervisor.supervisor_pid
        return advice.told(advice.SUPERVISOR, _stopped(pid), supervisor_pid=pid)
    if asks.keyboard:
        return advice.told(advice.KEYBOARD, keyboard.hint(asks.keyboard))
    if asks.waiting_for_input:
        return advice.told(advice.INPUT, prompt.hint(inspection, asks))
    found: list[Advice] = []
    if inspection.definition.approval is not None:
        found += advice.told(advice.APPROVAL, pending.hint(job, inspection))
    if inspection.elsewhere:
        found += advice.told(advice.ELSEWHERE, elsewhere.hint(inspection, job))
    if found:
        return found
    own = own_words.hint(inspection.definition, inspection.state)
    found = advice.told(advice.OWN_WORDS, own)
    if silent_ms is not None and silent_ms >= limits.SILENT_MS:
        return found + silence.advice_on(inspection, job, output, silent_ms)
    return found + _at_end(ctx, inspection, job, output)


def _stopped(pid: int) -> str:
    return (
        f"Its supervisor (pid {pid}) is stopped: output is not taken, its end is not seen, and write is not "
        f"answered until it goes on. Nothing is lost. `kill -CONT {pid}` continues it; kill ends the job all the same."
    )


def _at_end(ctx: Context, inspection: Inspection, job: JobDir, output: Output) -> list[Advice]:
    """Return why a job may have failed, whose exit code it has, and what is gone with its sandbox."""
    code, sandbox = inspection.state.exit_code, inspection.definition.sandbox
    if not inspection.definition.command:  # it cannot be read
        return []
    if inspection.state.reason == "launch":
        return advice.told(advice.CAUSE, failure.of_command(inspection.definition))
    if not inspection.state.finished or code is None:
        return []
    cause = failure.hint(inspection, output) or taken_port.hint(ctx, inspection, job, output) if code else None
    whose = _whose_code(ctx.caller, inspection, output, code)
    text = None if whose is None else whose.text
    if whose is not None and whose.line is not None and cause is None and sandbox is not None:
        text = sentences(text, sandboxed.hint(inspection, output))
    found = [*advice.told(advice.CAUSE, cause), *advice.told(advice.EXIT_CODE, text)]
    if code and not found:
        found = advice.told(advice.CAUSE, failure.silent(inspection, output))
    if sandbox is not None and not (code and found):
        gone = sandboxed.gone(sandbox, " ".join(inspection.definition.command))
        found += advice.told(advice.SANDBOX, gone)
    return found


def _whose_code(caller: Principal, inspection: Inspection, output: Output, code: int) -> exit_code.Whose | None:
    if inspection.definition.shell is None:
        return None
    text = inspection.definition.command[0]
    if code <= exit_code.SIGNALLED and not any(sign in text for sign in _JOINING):
        return None
    return exit_code.hint(caller, inspection, output)
