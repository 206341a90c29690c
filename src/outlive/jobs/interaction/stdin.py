"""Put bytes into a job's stdin or terminal, for write, send-keys, submit and paste."""

from __future__ import annotations

from typing import NamedTuple

from outlive import limits
from outlive.answers.job import Job
from outlive.answers.writing import Written
from outlive.core.members import number_of
from outlive.errors import OutliveError, argument, invalid
from outlive.jobs import adoption, auditing
from outlive.jobs.context import Context
from outlive.jobs.control_client import ask
from outlive.jobs.definition import require_input
from outlive.jobs.interaction import keyboard
from outlive.jobs.interaction.reaction import Reaction
from outlive.store.inspection.inspect import Inspection
from outlive.store.job_dir import KEYBOARD, JobDir
from outlive.system import fds


class Input(NamedTuple):
    """What a call writes. `eof`: the input ends after it. `field`: the argument that holds the data."""

    data: bytes
    field: str = "data"
    eof: bool = False


def deliver(
    ctx: Context,
    job: JobDir,
    given: Input,
    *,
    timeout_ms: int,
    wait_ms: int = 0,
    max_bytes: int = limits.SHOWN_BYTES,
) -> Written:
    """Write what is given. Answer when the job has read it all, or after `timeout_ms`; with `wait_ms`
    also with the job's reaction, at most `max_bytes` of it.

    Errors: stdin_closed, invalid_state, invalid_argument, io_error.
    """
    data, field, eof = given
    inspection = require_writable(ctx, job, len(data), eof=eof, field=field)
    reaction = Reaction(ctx, job, wait_ms, max_bytes) if wait_ms else None
    try:
        answer = put(job, data, timeout_ms=timeout_ms, eof=eof)
    except OutliveError as error:
        if error.code == "io_error":  # the job may have ended meanwhile, and its supervisor with it
            require_open(adoption.inspect_and_adopt(ctx, job))
        raise
    written = answer.written
    if answer.closed and not eof and written < len(data):
        raise OutliveError(
            "stdin_closed",
            f"the job closed its input after {written} bytes",
            hint="It may have ended: poll tells.",
            details={"bytes_written": written},
        )
    said = None
    if reaction is not None:
        if written == len(data):  # else the job does not read, and has nothing to react to
            reaction.settled()
        said = reaction.answer(data)
    state = said.reading.job.state if said else adoption.inspect_and_adopt(ctx, job).state.state
    return Written(
        job=Job(job_id=job.job_id, state=state),
        reading=None if said is None else said.reading,
        timeout_ms=inspection.definition.timeout_ms,
        since=None if said is None else said.since,
        waited_ms=None if said is None else said.waited_ms,
        bytes_written=written,
        stdin="closed" if answer.closed else "open",
        warnings=warnings_of(job, inspection, written, len(data), eof and not answer.eof) or None,
    )


def require_writable(ctx: Context, job: JobDir, count: int, *, eof: bool = False, field: str) -> Inspection:
    """Check that this caller may write so many bytes into the job, and record that it does. Errors: as
    for `deliver`."""
    if count > limits.MAX_STDIN_WRITE_BYTES:
        raise invalid(field, f"at most {limits.MAX_STDIN_WRITE_BYTES:,} bytes can be written at once")
    inspection = adoption.inspect_and_adopt(ctx, job)
    require_open(inspection)
    if ctx.face == "mcp":
        require_input(ctx, inspection.definition)
    auditing.note(ctx, ctx.verb or "write", job.job_id, bytes=count, eof=eof or None)
    return inspection


class Put(NamedTuple):
    """What became of input: how many bytes of it the job read, whether it closed its input, and whether that was ended."""

    written: int
    closed: bool
    eof: bool


def put(job: JobDir, data: bytes, *, timeout_ms: int, eof: bool = False) -> Put:
    """Have the supervisor write `data`."""
    with fds.Closing(fds.memory_file("stdin", data)) as memory:
        asked = {"op": "write", "eof": eof, "wait_s": timeout_ms / 1000}
        answer = ask(job, asked, (memory,), wait_s=timeout_ms / 1000, changes="part of the data may be in")
        return Put(number_of(answer, "written"), bool(answer.get("closed")), bool(answer.get("eof")))


def require_open(inspection: Inspection) -> None:
    """Raise invalid_state or stdin_closed if nothing can be written to the job."""
    state = inspection.state
    if state.state == "created":
        raise OutliveError("invalid_state", "the job was not started yet", hint=before_start(inspection))
    if state.finished:
        message = f"the job has ended ({state.state}); nothing reads its input"
        raise OutliveError("stdin_closed", message, hint="log shows what it printed; restart runs it again.")
    if inspection.definition.stdin != "open" and not inspection.definition.pty:
        raise OutliveError(
            "stdin_closed",
            "the job was started with its stdin closed",
            hint=f"To write to it, start it with {argument('stdin')} open, or with {argument('pty')} for a terminal.",
        )
    if state.stdin == "closed":
        raise OutliveError("stdin_closed", "the job's stdin was ended by eof, or the job closed it")


def before_start(inspection: Inspection, name: str | None = None) -> str:
    """Return what starts a job that is `created`. `name`: how a person types it."""
    if inspection.definition.approval is not None:
        return "It waits for the user's approval; wait answers when it has ended or was denied."
    host = inspection.definition.host
    start = "start runs it." if name is None else f"`outlive start {name}` runs it."
    return start if host is None else f"It waits for its start on {host}; status says for what."


def require_pty(inspection: Inspection, *, running: bool = True) -> None:
    """Raise not_a_pty if the job has no terminal; with `running` also call `require_open`."""
    if not inspection.definition.pty:
        raise OutliveError(
            "not_a_pty",
            "the job was started without a terminal",
            hint=f"write puts text into its stdin if that is open; start it with {argument('pty')} for keys and a screen.",
        )
    if running:
        require_open(inspection)


def warnings_of(job: JobDir, inspection: Inspection, written: int, wanted: int, not_ended: bool) -> list[str]:
    warnings = []
    if written != wanted:
        lost = "; its input was not ended either" if not_ended else ""
        warnings = [
            f"the job read {written} of {wanted} bytes in time{lost}: write the rest, from byte {written} on, later"
        ]
    if inspection.definition.pty and job.has(KEYBOARD):
        warnings += keyboard.warning(job)
    return warnings
