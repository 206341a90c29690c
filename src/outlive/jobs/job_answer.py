"""The facts about a job that answers share.

Every call loads this module. What only few jobs have is in modules of its own, which are imported
where it is found.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from outlive import limits
from outlive.answers import ABSENT, sentences
from outlive.answers.job import Described, HowEnded, Losses, OtherRun, Outcome, Place, Prompt, Stopped
from outlive.answers.testing import Reported
from outlive.core.ids import short_id
from outlive.core.records import Sources
from outlive.core.units import seconds_of
from outlive.jobs.diagnosis import use
from outlive.jobs.interaction import keyboard
from outlive.jobs.processes import descendants, stopped_supervisor
from outlive.store.output.merged import Output
from outlive.system import process
from outlive.system.waiting import checkpoint

if TYPE_CHECKING:
    from outlive.answers.output import Shown
    from outlive.jobs.context import Context
    from outlive.render.view import View
    from outlive.store.inspection.inspect import Inspection
    from outlive.store.job_dir import JobDir


# Above one of these an answer is made in a thread of the server
_QUICK_BYTES = 32_768
_QUICK_RUNS = 4_096  # of one stream without the other between
_SIGNALLED = 128  # a shell adds it to the number of a signal
_JOINING = "|;&\n"  # without one of these a string is one command


def describe(inspection: Inspection, job: JobDir, output: Output, asks: Prompt) -> Described:
    """Return what the job is, and how it ended if it has. `asks`: what `waiting` says."""
    definition, state = inspection.definition, inspection.state
    return Described(
        short_id=short_id(job.job_id),
        name=definition.name,
        pid=state.pid,
        cwd=definition.cwd or None,
        command=definition.command,
        command_bytes=definition.command_bytes,
        tags=definition.tags,
        owner=definition.owner,
        created_at=definition.created_at,
        timeout_ms=definition.timeout_ms,
        asks=asks,
        stopped=stopped(inspection),
        place=place(inspection, job),
        started_at=ABSENT if state.started_at is None else state.started_at,
        outcome=outcome(inspection, job),
        message=state.message,
        damage=damage(inspection, output),
        dropped_bytes=state.dropped_bytes or None,
        missing_bytes=output.missing_bytes or None,
        adopted=state.adopted or None,
        restarted_from=definition.restarted_from,
        approval=approval_of(inspection, job),
        resources=_resources(inspection) if definition.resources is not None else None,
        sandbox=None if definition.sandbox is None else {**definition.sandbox.shown},
    )


def place(inspection: Inspection, job: JobDir) -> Place | None:
    """Return where a job is; None for a job on this machine."""
    if not inspection.elsewhere:
        return None
    from outlive.jobs.diagnosis import elsewhere

    return elsewhere.place(inspection, job)


def _resources(inspection: Inspection) -> dict[str, object]:
    return use.resources_of(inspection)


def approval_of(inspection: Inspection, job: JobDir) -> dict[str, object] | None:
    """Return what became of the approval of a job, and what a person is shown of it as long as it is
    pending; None if none was asked for."""
    if inspection.definition.approval is None:
        return None
    from outlive.store import approval

    answer = approval.shown(job, inspection.definition)
    if answer["state"] == approval.PENDING:
        from outlive.jobs.permission import facts

        answer["facts"] = facts.shown(inspection.definition)
    return answer


def waiting(inspection: Inspection, output: Output) -> Prompt:
    """Return whether the job waits for input, and if so its prompt and, on a terminal, whether
    typing is shown; and which person holds the keyboard of its terminal."""
    held = _keyboard(inspection, output) if inspection.definition.pty else None
    record = inspection.state.waiting
    # The supervisor clears the record, but a reader may be faster
    if (
        not record
        or inspection.state.state != "running"
        or not (inspection.supervised or inspection.elsewhere)
        or output.end != record.seq
    ):
        return Prompt(waiting_for_input=False, keyboard=held)
    from outlive.jobs.interaction import prompt

    # A program that reads key by key shows what is typed itself (an editor, a shell)
    echo = None if record.echo is None else record.echo or not record.canonical
    return Prompt(waiting_for_input=True, keyboard=held, prompt=prompt.text(inspection, output) or None, echo=echo)


def _keyboard(inspection: Inspection, output: Output) -> dict[str, str] | None:
    """Return which person holds the keyboard of a terminal; None if no person does."""
    if inspection.state.finished or not output.job.has_keyboard():
        return None
    return keyboard.holder(output.job)


def stopped(inspection: Inspection) -> Stopped | None:
    """Return the pid of a stopped supervisor, if it is: output waits in its pipes, and no request is
    answered."""
    if not inspection.supervised:
        return None
    pid = stopped_supervisor(inspection)
    return None if pid is None else Stopped(supervisor="unresponsive", supervisor_pid=pid)


def _stopped_hint(pid: int) -> str:
    """Return how to continue a stopped supervisor."""
    return (
        f"Its supervisor (pid {pid}) is stopped: output is not taken, its end is not seen, and write is not "
        f"answered until it goes on. Nothing is lost. `kill -CONT {pid}` continues it; kill ends the job all the same."
    )


def advice(
    ctx: Context, inspection: Inspection, job: JobDir, output: Output, asks: Prompt, supervisor: Stopped | None
) -> str | None:
    """Return what to do about a job that waits for input, is silent or has failed; None for others.

    `asks` and `supervisor` are what `waiting` and `stopped` say.
    """
    if supervisor is not None:
        return _stopped_hint(supervisor.supervisor_pid)
    if asks.keyboard:
        return keyboard.hint(asks.keyboard)
    if asks.waiting_for_input:
        from outlive.jobs.interaction import prompt

        return prompt.hint(inspection, asks)
    hint = None
    if inspection.definition.approval is not None:
        from outlive.jobs.permission import pending

        hint = pending.hint(job, inspection)
    if hint is None and inspection.elsewhere:
        from outlive.jobs.diagnosis import elsewhere

        hint = elsewhere.hint(inspection, job)
    if hint:
        return hint
    silent_ms = idle_ms(inspection, output)
    if silent_ms is not None and silent_ms >= limits.SILENT_MS:
        from outlive.jobs.diagnosis import silence

        return silence.hint(inspection, job, output, silent_ms)
    return _advice_at_end(ctx, inspection, output)


def _advice_at_end(ctx: Context, inspection: Inspection, output: Output) -> str | None:
    """Return why a job may have failed, or whose exit code it has; None for others."""
    hint = None
    if not inspection.state.finished or inspection.state.exit_code is None:
        return None
    if inspection.state.exit_code:
        from outlive.jobs.diagnosis import failure

        hint = failure.hint(inspection, output)
    if hint is None and inspection.definition.shell is not None:
        text, code = inspection.definition.command[0], inspection.state.exit_code
        if code > _SIGNALLED or any(sign in text for sign in _JOINING):
            from outlive.jobs.diagnosis import exit_code  # late: most commands are one, whose code is its own

            hint = exit_code.hint(ctx, inspection, output)
            if hint is not None and exit_code.MAY_HAVE_FAILED in hint and inspection.definition.sandbox is not None:
                from outlive.jobs.diagnosis import sandboxed  # late: of jobs in a sandbox

                hint = sentences(hint, sandboxed.hint(inspection, output))
    if inspection.definition.sandbox is not None and (hint is None or not inspection.state.exit_code):
        from outlive.jobs.diagnosis import sandboxed  # late: of jobs in a sandbox

        gone = sandboxed.gone(inspection.definition.sandbox, " ".join(inspection.definition.command))
        hint = sentences(hint, gone)
    return hint


def reported(inspection: Inspection) -> Reported:
    """Return what the test report of an ended job says; nothing of a job without one."""
    if inspection.definition.report is None or not inspection.state.finished:
        return Reported()
    from outlive.jobs.diagnosis import report  # late: few jobs have a report

    checkpoint()
    return report.reported(inspection)


def how_ended(inspection: Inspection, job: JobDir) -> HowEnded | None:
    """Return how a job ended; None before it has ended."""
    state = inspection.state
    if not state.finished:
        return None
    return HowEnded(
        exit_code=state.exit_code, signal=state.signal, reason=state.reason, stages=stages_of(inspection, job)
    )


def outcome(inspection: Inspection, job: JobDir) -> Outcome | None:
    """Return how a job ended and what is known of it since; None before it has ended."""
    state = inspection.state
    if not state.finished:
        return None
    return Outcome(
        exit_code=state.exit_code,
        signal=state.signal,
        reason=state.reason,
        stages=stages_of(inspection, job),
        finished_at=state.finished_at,
        duration_ms=state.duration_ms,
        errno=state.errno,
        usage=None if state.usage is None else used(inspection),
        ended_by=state.ending.by if state.ending and state.reason == state.ending.cause else None,
    )


def stages_of(inspection: Inspection, job: JobDir) -> list[int] | None:
    """Return the exit code of each stage of the pipeline that a job ended with; None where they are not known."""
    definition = inspection.definition
    if definition.shell is None or "|" not in definition.command[0]:
        return None
    from outlive.jobs.pipelines import stages  # late: most commands are no pipelines

    return stages.codes(inspection, job)


def previous(ctx: Context, inspection: Inspection, output: Output) -> OtherRun | None:
    """Return the run before a job that failed; None for other jobs, as those that were killed on request."""
    state = inspection.state
    if not (state.finished and state.ended_badly) or state.started_at is None or state.reason == "kill":
        return None
    from outlive.jobs.diagnosis import earlier_runs  # late: for failures alone

    return earlier_runs.previous(ctx, inspection, output)


def usage(inspection: Inspection, job: JobDir, output: Output) -> dict[str, Any] | None:
    """Return what a job uses; of an ended job, what was written down. None: nothing is known."""
    if not inspection.supervised:
        return None if inspection.state.usage is None else used(inspection)
    return use.of_job(inspection, job, output, used(inspection))


def looked_elsewhere(inspection: Inspection, job: JobDir, verb: str) -> dict[str, Any]:
    """Ask another host about the processes of its job, if the host is to be asked for this verb.
    Return {usage, descendants}, each only if it is known; nothing for a job of this machine."""
    if not inspection.elsewhere:
        return {}
    from outlive.jobs.diagnosis import elsewhere

    return elsewhere.looked(inspection, job, verb)


def used(inspection: Inspection) -> dict[str, Any]:
    """Return what the ended processes of a job used, as its supervisor wrote it down."""
    known = inspection.state.usage
    peak = None if known is None else known.peak_memory_bytes
    # Without another word the kernel summed it up when it was reaped
    source = (known and known.source) or Sources(time="rusage", memory="rusage")
    return {
        "wall_ms": elapsed_ms(inspection),
        "user_ms": known and known.user_ms,
        "system_ms": known and known.system_ms,
        "peak_memory_bytes": peak,
        "source": {name: one for name, one in source.to_dict().items() if name == "time" or peak is not None},
    }


def new_output(inspection: Inspection, job: JobDir, output: Output, since: int, view: View) -> Shown:
    """Return the output from `since` on. While a program fills its terminal, this ends with the
    screen, unless `raw`."""
    from outlive.render import window

    shown = None
    if inspection.state.terminal and not view.raw:
        from outlive.jobs.interaction import screen  # late: most jobs have no terminal

        shown = screen.instead_of_output(inspection, job, output, since, view.max_bytes)
    return shown or window.show(job, output, since, output.end, view, more=not inspection.state.finished)


def takes_long(inspection: Inspection, output: Output, since: int, max_bytes: int) -> bool:
    """Return whether `new_output` or `previous` may take more than some hundredths of a second."""
    new = output.end - since
    if new > max_bytes or inspection.state.ended_badly:  # lines are chosen, or runs compared
        return True
    return (output.end if inspection.state.terminal else new) > _QUICK_BYTES or output.runs > _QUICK_RUNS


def snippet(inspection: Inspection, output: Output) -> str:
    """Return the end of the output; while a program fills its terminal, the screen."""
    from outlive.render import ends

    if inspection.state.terminal:
        from outlive.jobs.interaction import screen

        if screen.alternate_since(inspection, output, output.end) is not None:
            return screen.text(screen.drawn(inspection, output), limits.SNIPPET_BYTES)
    return ends.snippet(output)


def telling_line(ctx: Context, inspection: Inspection, output: Output) -> str | None:
    """Return the line that says why, of a command that exited with another code than 0; of others the last line that is
    not blank. None if there is none."""
    if inspection.state.exit_code:
        from outlive.render.failures import telling  # late: RE2, for failures alone

        return telling.line(output, ctx.config.get("output", "problem_matcher") or ())
    from outlive.render import ends

    return ends.last_line(output)


def damage(inspection: Inspection, output: Output) -> str | None:
    """Return what of the job's directory cannot be read, or not be written; None if all can."""
    return "; ".join(one for one in (inspection.damage, output.damage) if one) or None


def losses(inspection: Inspection, output: Output) -> Losses:
    """Return what is missing of the output: bytes that could not be stored, bytes that were cut from
    a log, and the end of it where it could not be searched for masked values. And what of the job
    is damaged."""
    hidden = output.hidden if inspection.state.finished and not inspection.supervised else 0
    lost = Losses(damage=damage(inspection, output))
    if output.missing_bytes or inspection.state.dropped_bytes or hidden:
        from outlive.jobs.diagnosis import losses as diagnosis

        diagnosis.add(lost, inspection, output, hidden)
    return lost


def not_utf_8(ctx: Context, output: Output) -> str | None:
    """Return how to read output that is no UTF-8, if this answer shows any: once for each job and
    session."""
    if not output.not_utf_8:
        return None
    from outlive.jobs.diagnosis import encoding  # late: most output is UTF-8

    return encoding.hint(ctx, output.job)


def env_vars(inspection: Inspection) -> list[str]:
    definition = inspection.definition
    shown = {**definition.env, **dict.fromkeys(definition.masked_env, "***")}
    return [f"{name}={value}" for name, value in shown.items()]


def elapsed_ms(inspection: Inspection) -> int:
    """Return the age of the job in milliseconds; once it has ended, how long it ran."""
    state = inspection.state
    if state.duration_ms is not None:
        return int(state.duration_ms)
    if state.started_ns is not None and state.boot_id == process.boot_id() and not state.finished:
        return max(0, (time.monotonic_ns() - state.started_ns) // 1_000_000)  # whatever the wall clock does
    started = state.started_at or inspection.definition.created_at
    end = seconds_of(state.finished_at) if state.finished_at else time.time()
    return max(0, round((end - seconds_of(started)) * 1000)) if started else 0


def idle_ms(inspection: Inspection, output: Output) -> int | None:
    """Return for how many milliseconds a running job has been quiet; None for other jobs."""
    if inspection.state.state != "running":
        return None
    last = output.last_time()
    if last is None:
        last = seconds_of(inspection.state.started_at) if inspection.state.started_at else time.time()
    # The time of a file is one of the wall clock, which may have jumped
    return min(max(0, round((time.time() - last) * 1000)), elapsed_ms(inspection))


def retry_after_ms(inspection: Inspection, output: Output) -> int | None:
    """Return half of the quiet so far, at least 1 s and at most 1 min: it grows with each poll that
    finds nothing."""
    quiet = idle_ms(inspection, output)
    if quiet is None:
        return None
    low, high = limits.RETRY_MS
    return min(high, max(low, quiet // 2))


def living(inspection: Inspection, job: JobDir) -> int | None:
    """Return how many processes of the job are alive besides its command; None where they are on
    another machine, which alone can tell."""
    if (
        inspection.elsewhere
        and inspection.state.state != "created"
        and (inspection.supervised or not inspection.state.finished)
    ):
        return None
    if not inspection.supervised:
        return 0
    return len(descendants(inspection, job))
