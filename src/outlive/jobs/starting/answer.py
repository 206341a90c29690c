"""The answer of a call that started a job: what the job is, what it printed, and what to do next."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from contextlib import closing

from outlive import limits, parts
from outlive.answers import advice
from outlive.answers.advice import Advice, Advised
from outlive.answers.job import Job
from outlive.answers.output import Tails
from outlive.answers.starting import Started
from outlive.core.started import started_at
from outlive.core.units import timestamp
from outlive.jobs import adoption, job_answer
from outlive.jobs.context import Context, Principal
from outlive.jobs.control_client import ControlClient
from outlive.jobs.interaction import shown_output
from outlive.jobs.starting.plan import Timing
from outlive.jobs.told import known_to_session
from outlive.render import sources, window
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.system.waiting import checkpoint

_LOOKS_S = (0.7, 2.0, 5.0)  # after the call, at what is in the foreground of a job without a terminal


def at_end(
    ctx: Context,
    job: JobDir,
    sock: socket.socket | None,
    *,
    began: float,
    deadline: float | None,
    asked: Timing,
    noted: list[Advice],
) -> Started:
    """Wait for the end of a started job, or until `deadline` (time.monotonic seconds; None: no limit), and answer. Sooner
    if nothing would happen until a person does something. On `sock` its supervisor reports the end."""
    looks = [began + after for after in _LOOKS_S]
    # Closed after the answer is made: a supervisor that is heard does not sync the directory that is read here
    with closing(ControlClient(job, output=False, sock=sock)) as control:
        while True:
            inspection = adoption.inspect_and_adopt(ctx, job)
            if inspection.state.finished or (deadline is not None and time.monotonic() >= deadline):
                break
            if deadline is not None and inspection.state.waiting:
                with Output(job) as output:
                    if job_answer.waiting(inspection, output).waiting_for_input:
                        break  # nothing happens until its question is answered
            if looks and deadline is not None and time.monotonic() >= looks[0]:
                looks.pop(0)
                asks = _wants_person(inspection, job)
                if asks is not None:
                    noted = [*noted, *advice.told(advice.INPUT, asks)]
                    break
            control.pause(min([deadline, *looks[:1]]) if deadline is not None else None)
        return made(ctx, inspection, job, began=began, asked=asked, noted=noted)


def made(
    ctx: Context, inspection: Inspection, job: JobDir, *, began: float, asked: Timing, noted: Sequence[Advice] = ()
) -> Started:
    """Return the answer of run, start and restart.

    `began` is when the call came (time.monotonic seconds), `noted` what the call itself has to say.
    """
    max_bytes = asked.max_bytes
    # Of a job that runs a brief answer does not show it
    others = None if ctx.detail == "brief" and not inspection.state.finished else job_answer.living(inspection, job)
    with Output(job) as output:
        budget = None if max_bytes else _budget(ctx.caller)
        room = max_bytes or budget or limits.SHOWN_BYTES
        if shown_output.takes_long(inspection, output, 0, room):
            checkpoint()
        shape = sources.view_of(ctx.config, room, raw=asked.raw, show=asked.show)
        shown = shown_output.new_output(inspection, job, output, 0, shape)
        left = max(0, (budget or 0) - len(shown.output.encode("utf-8", "replace"))) // 2
        most = max_bytes or (limits.TAIL_BYTES if budget is None else left)
        snapshot = window.tails(output, asked.tail_lines, most, more=not inspection.state.finished)
        lost = job_answer.losses(inspection, output)
        asks = job_answer.waiting(inspection, output)
        described = job_answer.describe(inspection, job, output, asks)
        said = job_answer.said(ctx, inspection, job, output, asks, described.stopped)
        unread = shown_output.not_utf_8(ctx, output)
    if ctx.caller.client is not None:
        known_to_session.mark_seen(ctx, job, shown.next_seq, asks=asks.waiting_for_input)
    found = [
        *said.advice,
        *advice.left_running(job.job_id, others if inspection.state.finished else None),
        *advice.told(advice.LOST, lost.hint),
    ]
    if inspection.state.finished:
        found += advice.told(advice.SHELL, shell_hint(inspection, snapshot))
        is_known = bool(lost.hint) or any(one.kind == advice.CAUSE for one in said.advice)
        found += advice.told(advice.NEXT, None if is_known else _after_end(inspection))
    elif not found and not any(one.kind == advice.INPUT for one in noted):
        found += _meanwhile(inspection)
    found += [*noted, *job_answer.given(inspection).advice, *advice.told(advice.ENCODING, unread)]
    return Started(
        job=Job(job_id=job.job_id, state=inspection.state.state),
        shown=shown,
        described=described,
        of_parts=said.fields,
        started_at=_start(inspection),
        snapshot=snapshot,
        stdout_log_path=job.log_path(0),
        stderr_log_path=job.log_path(1),
        waited_ms=round((time.monotonic() - began) * 1000),
        elapsed_ms=job_answer.elapsed_ms(inspection) or 0,  # seed 001 wants the member
        env_vars=job_answer.env_vars(inspection),
        descendants=others,
        advised=Advised.made_of(found),
    )


def _start(inspection: Inspection) -> str | None:
    """Return when the command was started, or was about to be; None if the job waits for its start."""
    state, created_at = inspection.state, inspection.definition.created_at
    return None if state.state == "created" else started_at(state, created_at) or created_at or timestamp()


def _budget(caller: Principal) -> int | None:
    """Return the most bytes that an answer shows, the snapshot included; None where each view has
    a bound of its own."""
    most: int | None = caller.config.get("exec", "max_output_bytes")
    return limits.MCP_SHOWN_BYTES if most is None and caller.face == "mcp" else most


# What shells say of a command that was written for another one
_SHELL_ERRORS = ("yntax error", "ad substitution", "unexpected EOF", "[[: not found", "unexpected operator",
    "source: not found", "shopt: not found", "declare: not found", "Illegal option", "event not found")  # fmt: skip


def shell_hint(inspection: Inspection, snapshot: Tails) -> str | None:
    """Return which shell it was, if a failed command seems to have been written for another one."""
    shell = inspection.definition.shell
    if not shell or not inspection.state.exit_code:
        return None
    name = shell[0].rpartition("/")[2]
    lines = f"{snapshot.stderr_tail}\n{snapshot.stdout_tail if inspection.definition.pty else ''}".splitlines()
    errors = (line for line in lines if line.startswith((f"{name}: ", f"{shell[0]}: ")))
    if any(error in line for line in errors for error in _SHELL_ERRORS):
        return f"The shell was `{' '.join(shell)}`."
    return None


def _meanwhile(inspection: Inspection) -> list[Advice]:
    """Return what to do about a job that has not ended."""
    if inspection.state.state == "created":
        return advice.told(advice.NEXT, "It was not started yet. Use wait to be told when it ends, kill to cancel it.")
    calls = "Use wait to be told when it ends, poll or log to read on, kill to end it."
    return advice.told(advice.STILL, f"It still runs. {calls}")


def _after_end(inspection: Inspection) -> str | None:
    """Return what to do about a job that did not end by itself, or None."""
    state = inspection.state
    if state.reason == "timeout":
        return "Start it with a larger timeout (0: none) if it should run longer."
    if state.reason in ("lost", "reboot"):
        return "Its output up to then is complete. Check what it did before running it again."
    if state.reason == "launch" and state.errno is not None:
        words = inspection.definition.command
        if inspection.definition.shell is None and len(words[0].split()) > 1:  # ["ls -la | head"]
            return f"No shell ran: words in an array are a program and its arguments. Give one string: {words[0]}"
        if state.errno == "E2BIG":
            return "The command never ran: shorten its words and variables, or put the text into a file."
        return "The command never ran: check its name and PATH."
    return None


def _wants_person(inspection: Inspection, job: JobDir) -> str | None:
    """Return what is to be said of a job without a terminal whose program wants a person, as an editor
    does: it would say and do nothing more."""
    if inspection.definition.pty or inspection.elsewhere or inspection.state.state != "running":
        return None
    of_parts = parts.of_job(inspection.definition).values()
    return next(filter(None, (one.wants_person(inspection, job) for one in of_parts)), None)
