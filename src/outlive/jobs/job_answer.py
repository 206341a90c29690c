"""The facts about a job that answers share.

Every call loads this module. What only few jobs have is in modules of its own, which are imported
where it is found.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from outlive import parts
from outlive.answers import ABSENT, Fields, advice, sentences
from outlive.answers.advice import PART, Advice, told
from outlive.answers.job import Described, Elsewhere, HowEnded, Losses, Outcome, Prompt, Stopped
from outlive.answers.of_parts import Given, InList, OfParts
from outlive.core.ids import short_id
from outlive.core.records import Sandbox, Sources
from outlive.core.started import has_begun, started_at
from outlive.core.units import seconds_or
from outlive.jobs import programs
from outlive.jobs.context import Context
from outlive.jobs.diagnosis import other_machine, use
from outlive.jobs.diagnosis.use import Figures
from outlive.jobs.processes import descendants, stopped_supervisor
from outlive.jobs.starting import gate
from outlive.part import Look, Said
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import LOGS, JobDir
from outlive.store.output.merged import Output
from outlive.system import process


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
        elsewhere=elsewhere(inspection, job),
        started_at=started_at(state, definition.created_at) or ABSENT,
        outcome=outcome(inspection, job),
        message=state.message,
        damage=damage(inspection, output),
        dropped_bytes=state.dropped_bytes or None,
        missing_bytes=output.missing_bytes or None,
        adopted=state.adopted or None,
        restarted_from=definition.restarted_from,
        approval=approval_of(inspection, job),
        given=given(inspection).fields,
        sandbox=None if definition.sandbox is None else boundary(definition.sandbox),
    )


def boundary(sandbox: Sandbox) -> dict[str, object]:
    return {**sandbox.shown, **({"added": sandbox.added} if sandbox.added else {})}


def elsewhere(inspection: Inspection, job: JobDir) -> Elsewhere | None:
    """Return where a job is; None for a job on this machine."""
    is_apart = inspection.elsewhere or inspection.definition.host is not None
    return other_machine.elsewhere(inspection, job) if is_apart else None


def approval_of(inspection: Inspection, job: JobDir) -> dict[str, object] | None:
    """Return what became of the approval of a job, and what a person is shown of it as long as it is
    pending; None if none was asked for."""
    held = gate.of(inspection.definition)
    return None if held is None else held.shown(job, inspection.definition)


def waiting(inspection: Inspection, output: Output) -> Prompt:
    """Return whether the job waits for input, and if so its prompt and, on a terminal, whether
    typing is shown; and which person holds the keyboard of its terminal."""
    has_keyboard = inspection.definition.pty and not inspection.state.finished
    hold = parts.keyboard(output.job) if has_keyboard else None
    held = None if hold is None else {"held_by": hold.held_by, "since": hold.since}
    record = inspection.state.waiting
    # The supervisor clears the record, but a reader may be faster
    if (
        not record
        or inspection.state.state != "running"
        or not (inspection.supervised or inspection.elsewhere)
        or output.end != record.seq
    ):
        return Prompt(waiting_for_input=False, keyboard=held)
    # A program that reads key by key shows what is typed itself (an editor, a shell)
    echo = None if record.echo is None else record.echo or not record.canonical
    from outlive.jobs.interaction import screen  # late: 1.6 ms of a `status`, and few jobs ask

    return Prompt(waiting_for_input=True, keyboard=held, prompt=screen.prompt(inspection, output) or None, echo=echo)


def stopped(inspection: Inspection) -> Stopped | None:
    """Return the pid of a stopped supervisor, if it is: output waits in its pipes, and no request is
    answered."""
    pid = stopped_supervisor(inspection)
    return None if pid is None else Stopped(supervisor="unresponsive", supervisor_pid=pid)


def said(
    ctx: Context, inspection: Inspection, job: JobDir, output: Output, asks: Prompt, supervisor: Stopped | None
) -> Said:
    """Return what else is said of a job, and what to do about it. `asks` and `supervisor` are what `waiting` and `stopped`
    say."""
    found = _advice(inspection, job, asks, supervisor)
    silent_ms = None if found else idle_ms(inspection, output)
    of_parts = said_by_parts(Look(ctx, inspection, job, output, silent_ms))
    return Said(of_parts.fields, [*found, *of_parts.advice])


def _advice(inspection: Inspection, job: JobDir, asks: Prompt, supervisor: Stopped | None) -> list[Advice]:
    """Return what to do about a job that waits for input or for approval, or is out of reach; nothing for others."""
    if supervisor is not None:
        pid = supervisor.supervisor_pid
        return advice.told(advice.SUPERVISOR, _of_stopped(pid), supervisor_pid=pid)
    if asks.keyboard:
        hold = parts.keyboard(job)
        return advice.told(advice.KEYBOARD, None if hold is None else hold.hint)
    if asks.waiting_for_input:
        return advice.told(advice.INPUT, _how_to_answer(inspection, asks))
    found: list[Advice] = []
    held = gate.of(inspection.definition) if gate.is_held(inspection.definition) else None
    if held is not None:
        found += advice.told(advice.APPROVAL, held.hint(job, inspection))
    if inspection.elsewhere:
        found += advice.told(advice.ELSEWHERE, other_machine.hint(inspection, job))
    return found


def _of_stopped(pid: int) -> str:
    return (
        f"Its supervisor (pid {pid}) is stopped: output is not taken, its end is not seen, and write is not "
        f"answered until it goes on. Nothing is lost. `kill -CONT {pid}` continues it; kill ends the job all the same."
    )


def _how_to_answer(inspection: Inspection, asks: Prompt) -> str:
    """Return how to answer a job that waits for input."""
    if inspection.definition.pty:
        hidden = asks.echo is False
        said: str | None = parts.first("how_to_answer", inspection, hidden=hidden)
        what = "It asks for a password (what is typed is not shown): submit" if hidden else "Answer with submit, which"
        return said or f"{what} types text and Enter."
    return "Answer with submit (a line) or write (text as it is); write with eof ends the input."


def said_by_parts(look: Look) -> Said:
    """Return what the parts of outlive say of a job."""
    definition = look.inspection.definition
    missing = parts.missing(definition.of_parts)
    found = told(PART, f"It was made with {parts.not_there(missing)}.") if missing else []
    said = _together(OfParts(), {name: one.described(look) for name, one in parts.of_job(definition).items()})
    return Said(said.fields, [*found, *said.advice])


def given(inspection: Inspection) -> Said:
    """Return what a job was given by parts of outlive."""
    given_by = parts.of_job(inspection.definition, "given")
    return _together(Given(), {name: one.given_to(inspection) for name, one in given_by.items()})


def _together(fields: Fields, each: Mapping[str, Said | None]) -> Said:
    """Return what parts say, by their names, in these fields."""
    said = {name: one for name, one in each.items() if one is not None}
    for name, one in said.items():
        setattr(fields, name, one.fields)
    return Said(fields, [advice for one in said.values() for advice in one.advice])


def in_list(inspection: Inspection) -> Fields:
    """Return what the parts of outlive say of a job in a list."""
    fields = InList()
    for name, one in parts.of_job(inspection.definition, "listed").items():
        setattr(fields, name, one.entry_of(inspection))
    return fields


def how_ended(inspection: Inspection, job: JobDir) -> HowEnded | None:
    """Return how a job ended; None before it has ended."""
    return ending(inspection, job) if inspection.state.finished else None


def ending(inspection: Inspection, job: JobDir) -> HowEnded:
    """Return how a job ended, as far as it has."""
    state = inspection.state
    return HowEnded(
        exit_code=state.exit_code, signal=state.signal, reason=state.reason, stages=stages_of(inspection, job)
    )


def outcome(inspection: Inspection, job: JobDir) -> Outcome | None:
    """Return how a job ended and what is known of it since; None before it has ended."""
    state = inspection.state
    if not state.finished:
        return None
    has_run = has_begun(state, inspection.definition.created_at)
    return Outcome(
        ended=ending(inspection, job),
        finished_at=state.finished_at,
        duration_ms=state.duration_ms if has_run else ABSENT,
        errno=state.errno,
        usage=used(inspection).to_dict() if has_run and state.usage is not None else None,
        ended_by=state.ending.by if state.ending and state.reason == state.ending.cause else None,
    )


def stages_of(inspection: Inspection, job: JobDir) -> list[int] | None:
    """Return the exit code of each stage of the pipeline that a job ended with; None where they are not known."""
    definition = inspection.definition
    if definition.shell is None or "|" not in definition.command[0]:
        return None
    return programs.stage_codes(inspection, job)


def usage(inspection: Inspection, job: JobDir, output: Output) -> dict[str, object] | None:
    """Return what a job uses; of an ended job, what was written down. None: nothing is known, or its command never ran."""
    state = inspection.state
    if not has_begun(state, inspection.definition.created_at):
        return None
    if not inspection.supervised:
        return None if state.usage is None else used(inspection).to_dict()
    return usage_now(inspection, job, output)


def usage_now(inspection: Inspection, job: JobDir, output: Output) -> dict[str, object] | None:
    """Return what a job uses, with a look at the processes that live. None: its command never ran."""
    figures = use.of_job(inspection, job, output, used(inspection))
    return None if figures is None else figures.to_dict()


def used(inspection: Inspection) -> Figures:
    """Return what the ended processes of a job used, as its supervisor wrote it down."""
    known = inspection.state.usage
    peak = None if known is None else known.peak_memory_bytes
    # Without another word the kernel summed it up when it was reaped
    source = (known and known.source) or Sources(time="rusage", memory="rusage")
    return Figures(
        wall_ms=elapsed_ms(inspection) or 0,
        user_ms=None if known is None else known.user_ms,
        system_ms=None if known is None else known.system_ms,
        peak_memory_bytes=peak,
        source={name: one for name, one in source.to_dict().items() if name == "time" or peak is not None},
    )


def damage(inspection: Inspection, output: Output) -> str | None:
    """Return what of the job's directory cannot be read, or not be written; None if all can."""
    return "; ".join(one for one in (inspection.damage, output.damage) if one) or None


def losses(inspection: Inspection, output: Output) -> Losses:
    """Return what is missing of the output: bytes that could not be stored, bytes that were cut from
    a log, and the end of it where it could not be searched for masked values. And what of the job
    is damaged."""
    hidden = output.hidden if inspection.state.finished and not inspection.supervised else 0
    lost = Losses(damage=damage(inspection, output))
    hints = []
    if output.missing_bytes:
        lost.missing_bytes = output.missing_bytes
        hints.append(_missing(output))
    if inspection.state.dropped_bytes:
        lost.dropped_bytes = inspection.state.dropped_bytes
        hints.append(_dropped(inspection, output))
    if hidden:
        why = "the processes that knew the masked values were killed before they had searched them"
        hints.append(f"The last {hidden:,} bytes of output are not shown, because {why}. The log files have them.")
    lost.hint = sentences(*hints)
    return lost


def _missing(output: Output) -> str:
    spans = zip(LOGS, output.missing, strict=True)
    changed = [f"{name} from byte {gone.start:,} on" for name, gone in spans if gone.start < gone.stop]
    how = f"another program changed {' and '.join(changed)}. Positions still count them."
    return f"{output.missing_bytes:,} bytes of output are missing: {how}"


def _dropped(inspection: Inspection, output: Output) -> str:
    quota = inspection.definition.quota_bytes
    why = "the disk under the job root was full. Free some space."
    limit = inspection.state.file_limit
    if limit is not None:
        why = (
            f"no file of its supervisor may be larger than {limit:,} bytes (`ulimit -f` of what started it): raise it."
        )
    elif 0 < quota <= output.end and not output.gap.merged.stop:
        why = f"they came after the job's quota of {quota:,} bytes, and this file system cannot punch holes into files."
    return f"{inspection.state.dropped_bytes:,} bytes of output are lost, because {why}"


def env_vars(inspection: Inspection) -> list[str]:
    definition = inspection.definition
    shown = {**definition.env, **dict.fromkeys(definition.masked_env, "***")}
    return [f"{name}={value}" for name, value in shown.items()]


def elapsed_ms(inspection: Inspection) -> int | None:
    """Return how long ago the command was started, in milliseconds; once it has ended, how long it ran; None if it has not
    started or never did."""
    state = inspection.state
    if not has_begun(state, inspection.definition.created_at):
        return None
    if state.duration_ms is not None:
        return int(state.duration_ms)
    if state.started_ns is not None and state.boot_id == process.boot_id() and not state.finished:
        return max(0, (time.monotonic_ns() - state.started_ns) // 1_000_000)  # whatever the wall clock does
    started = state.started_at or inspection.definition.created_at
    end = seconds_or(state.finished_at, time.time())
    return max(0, round((end - seconds_or(started, end)) * 1000))


def idle_ms(inspection: Inspection, output: Output) -> int | None:
    """Return for how many milliseconds a running job has been quiet; None for other jobs."""
    if inspection.state.state != "running":
        return None
    last = output.last_time()
    if last is None:
        last = seconds_or(inspection.state.started_at, time.time())
    # The time of a file is one of the wall clock, which may have jumped
    return min(max(0, round((time.time() - last) * 1000)), elapsed_ms(inspection) or 0)


def living(inspection: Inspection, job: JobDir) -> int | None:
    """Return how many processes of the job are alive besides its command; None where they are on
    another machine, which alone can tell."""
    if (
        inspection.elsewhere
        and inspection.state.state != "created"
        and (inspection.supervised or not inspection.state.finished)
    ):
        return None
    return len(descendants(inspection, job))
