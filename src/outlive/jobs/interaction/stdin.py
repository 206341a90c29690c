"""Put bytes into a job's stdin or terminal, for write, send-keys, submit and paste."""

from __future__ import annotations

from outlive import limits, parts
from outlive.answers.job import Job
from outlive.answers.reading import Polled
from outlive.answers.writing import Written
from outlive.core.members import number_of
from outlive.core.record import Value
from outlive.errors import OutliveError, argument, invalid
from outlive.jobs import acts, adoption
from outlive.jobs.context import Context
from outlive.jobs.control_client import ask
from outlive.jobs.definition import require_input
from outlive.jobs.interaction import typist
from outlive.jobs.interaction.reaction import Reaction
from outlive.jobs.starting import gate
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.system import fds

_CUT = "Use stdin open without pty, or a file, for data."


class Input(Value):
    """What a call writes. `eof`: the input ends after it. `field`: the argument that holds the data. `keys` are pressed
    after the data, then Enter with `enter`; a job without a terminal gets a newline for it.
    `is_exact`: a line that the terminal would cut is written nevertheless."""

    data: bytes
    field: str = "data"
    eof: bool = False
    keys: bytes = b""
    enter: bool = False
    is_exact: bool = False

    def typed(self, *, pty: bool) -> bytes:
        """Return the bytes of it, without the markers of a paste."""
        return self.data + self.keys + (b"\r" if pty else b"\n") * self.enter


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
    eof, field = given.eof, given.field
    inspection = require_writable(ctx, job, len(given.data) + len(given.keys) + given.enter, eof=eof, field=field)
    reaction = Reaction(ctx, job, wait_ms, max_bytes) if wait_ms else None
    try:
        done = put_all(ctx, job, given, timeout_ms=timeout_ms, pty=inspection.definition.pty)
    except OutliveError as error:
        if error.code == "io_error":  # the job may have ended meanwhile, and its supervisor with it
            require_open(adoption.inspect_and_adopt(ctx, job))
        raise
    if done.closed and not eof and done.written < done.wanted:
        raise OutliveError(
            "stdin_closed",
            f"the job closed its input after {done.written} bytes",
            hint="It may have ended: poll tells.",
            details={"bytes_written": done.written},
        )
    said = None
    if reaction is not None:
        if done.written == done.wanted:  # else the job does not read, and has nothing to react to
            reaction.settled()
        said = reaction.answer(given.typed(pty=inspection.definition.pty), given.data, done.typed)
    return answered(ctx, job, inspection, done, said, not_ended=eof and not done.eof)


def answered(
    ctx: Context, job: JobDir, inspection: Inspection, done: Put, said: Polled | None, *, not_ended: bool = False
) -> Written:
    """Return the answer about what was written, and what the job `said` to it, if that was waited for. `not_ended`: its input
    was to end, and did not."""
    state = said.reading.job.state if said else adoption.inspect_and_adopt(ctx, job).state.state
    return Written(
        job=Job(job_id=job.job_id, state=state),
        reading=None if said is None else said.reading,
        timeout_ms=inspection.definition.timeout_ms,
        since=None if said is None else said.since,
        waited_ms=None if said is None else said.waited_ms,
        bytes_written=done.written,
        stdin="closed" if done.closed else "open",
        warnings=_warnings(job, inspection, done, not_ended=not_ended) or None,
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
    acts.about_to(ctx, ctx.verb or "write", job.job_id, bytes=count, eof=eof or None)
    return inspection


class Put(Value):
    """What became of input: how many bytes of it the job read, of how many; whether it closed its input, and whether that was
    ended. `lost`: what its terminal cuts. `typed`: where the output ended, of a text with Enter as a key of its own."""

    written: int
    wanted: int
    closed: bool = False
    eof: bool = False
    lost: str | None = None
    typed: typist.Typed | None = None


def put_all(ctx: Context, job: JobDir, given: Input, *, timeout_ms: int, pty: bool) -> Put:
    """Have the supervisor write what is given, to a terminal as a person types it. Errors: as for `deliver`."""
    if not pty:
        return put(job, given.typed(pty=False), timeout_ms=timeout_ms, eof=given.eof)
    terminal = typist.terminal_of(job)
    lost = typist.too_long(terminal, given.typed(pty=True))
    if lost is not None and not given.is_exact:
        raise invalid(given.field, f"{lost}: nothing was typed", hint=_CUT)
    text = typist.as_pasted(terminal, given.data) if given.enter else given.data
    first, *keys = typist.bursts(terminal, text, given.keys + b"\r" * given.enter)
    text_at, typed = _end(job), None
    done = put(job, first, timeout_ms=timeout_ms, eof=given.eof)
    for key in keys:
        if done.written < done.wanted:
            break
        try:
            typist.wait_until_read(job)
            typed = typist.Typed(text_at, _end(job))
            pressed = put(job, key, timeout_ms=timeout_ms)
        except OutliveError:
            if not adoption.inspect_and_adopt(ctx, job).state.finished:
                raise
            return done.changed(closed=True)
        if pressed.closed:  # it ended at what was typed before
            return done.changed(closed=True)
        done = Put(done.written + pressed.written, done.wanted + pressed.wanted, eof=pressed.eof)
    return done.changed(lost=lost, typed=typed)


def put(job: JobDir, data: bytes, *, timeout_ms: int, eof: bool = False) -> Put:
    """Have the supervisor write `data`."""
    with fds.Closing(fds.memory_file("stdin", data)) as memory:
        asked = {"op": "write", "eof": eof, "wait_s": timeout_ms / 1000}
        answer = ask(job, asked, (memory,), wait_s=timeout_ms / 1000, changes="part of the data may be in")
        return Put(number_of(answer, "written"), len(data), bool(answer.get("closed")), bool(answer.get("eof")))


def _end(job: JobDir) -> int:
    with Output(job) as output:
        return output.end


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
    if gate.is_held(inspection.definition):
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


def _warnings(job: JobDir, inspection: Inspection, done: Put, *, not_ended: bool) -> list[str]:
    warnings = []
    if done.written != done.wanted:
        lost = "; its input was not ended either" if not_ended else ""
        warnings = [
            f"the job read {done.written} of {done.wanted} bytes in time{lost}: write the rest, from byte {done.written} on, later"
        ]
    if done.lost is not None:
        warnings.append(f"{done.lost}: the rest of it is lost. {_CUT}")
    hold = parts.keyboard(job) if inspection.definition.pty else None
    if hold is not None:
        warnings.append(hold.warning)
    return warnings
