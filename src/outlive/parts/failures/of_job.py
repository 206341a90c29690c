"""What is said of a job that failed, that stands still, or whose exit code may be another command's."""

from __future__ import annotations

from outlive import limits
from outlive.answers import advice, sentences
from outlive.answers.advice import Advice
from outlive.answers.other_run import OtherRun
from outlive.core.started import never_ran
from outlive.jobs.starting import boundary
from outlive.part import Look, Said
from outlive.parts.failures import exit_code, failure, silence
from outlive.parts.failures.answers import Before
from outlive.parts.failures.causes import own_words, taken_port
from outlive.parts.failures.runs import alike_runs, changes, earlier_runs
from outlive.parts.failures.why import JOINING, tests_passed
from outlive.store.output.merged import Output
from outlive.system.waiting import checkpoint


def said(look: Look) -> Said:
    """Return what is said of the job."""
    definition, state = look.inspection.definition, look.inspection.state
    found = [*advice.told(advice.OWN_WORDS, own_words.hint(definition, state)), *_at_end(look)]
    if look.silent_ms is not None and look.silent_ms >= limits.SILENT_MS:
        found += silence.advice_on(look.inspection, look.job, look.output, look.silent_ms)
    if not state.finished or state.reason == "kill" or never_ran(state.state, state.reason):
        return Said(None, found)
    checkpoint()
    if not state.ended_badly and not tests_passed(look.inspection, look.output):
        return Said(None, found)
    run = previous(look)
    return Said(Before(previous=run) if run is not None or state.ended_badly else None, found)


def previous(look: Look) -> OtherRun | None:
    """Return the run before this one, with how many failures of it are gone and how many are new here where either
    reports any; None if there is none. Of a job that ended well: None too if that run did not fail, or a failure is left
    or new."""
    job, now = alike_runs.run_before(look.ctx.caller, look.inspection.definition), look.inspection.state
    if job is None:
        return None
    with job, Output(job) as before:
        state = job.read_state()
        if not now.ended_badly and (state is None or not state.ended_badly):
            return None
        run = earlier_runs.described(job.job_id, state)
        added = look.ctx.caller.config.get("output", "problem_matcher")
        counted = changes.of_failures(before, look.output, added)
    if counted is None:
        return run if now.ended_badly else None
    if not now.ended_badly and (counted.shared or counted.new or not counted.gone):
        return None
    run.gone, run.new, run.names = counted.gone, counted.new, counted.names or None
    failed = now.ended_badly and run.exit_code != 0 and counted.gone > 0 and not counted.shared
    if failed and (counted.silent or run.exit_code != now.exit_code):
        run.gone, run.names, run.different = None, None, True
    return run


def _at_end(look: Look) -> list[Advice]:
    """Return why a job may have failed, whose exit code it has, and what is gone with its sandbox."""
    inspection, output = look.inspection, look.output
    code, sandbox = inspection.state.exit_code, inspection.definition.sandbox
    if not inspection.definition.command:  # it cannot be read
        return []
    if inspection.state.reason == "launch":
        return advice.told(advice.CAUSE, failure.of_command(inspection.definition))
    if not inspection.state.finished or code is None:
        return []
    cause = None
    if code:
        cause = failure.hint(inspection, output) or taken_port.hint(look.ctx, inspection, look.job, output)
    whose = _whose_code(look, code)
    text = None if whose is None else whose.text
    if whose is not None and whose.line is not None and cause is None and sandbox is not None:
        text = sentences(text, boundary.of_part().cause(inspection, output))
    found = [*advice.told(advice.CAUSE, cause), *advice.told(advice.EXIT_CODE, text)]
    if code and not found:
        found = advice.told(advice.CAUSE, failure.silent(inspection, output))
    if sandbox is not None and not (code and found):
        found += advice.told(advice.SANDBOX, boundary.of_part().gone(inspection.definition))
    return found


def _whose_code(look: Look, code: int) -> exit_code.Whose | None:
    definition = look.inspection.definition
    if definition.shell is None:
        return None
    if code <= exit_code.SIGNALLED and not any(sign in definition.command[0] for sign in JOINING):
        return None
    return exit_code.hint(look.ctx.caller, look.inspection, look.output)
