"""Start a job, wait as the call asks, and answer: what the job is, what it printed, and what to do
next. For run, start and restart.
"""

from __future__ import annotations

import time

from outlive import limits
from outlive.core.ids import short_id
from outlive.core.units import timestamp
from outlive.errors import OutliveError
from outlive.jobs import adoption, job_answer, lookup, starting
from outlive.jobs.control_client import ControlClient
from outlive.render import window
from outlive.store.output.merged import Output

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

    from outlive.jobs.conditions.parse import Condition
    from outlive.jobs.context import Context
    from outlive.jobs.definition import Plan
    from outlive.jobs.permission.approval import Given
    from outlive.jobs.waiting import Waiting
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir
    from outlive.store.new_job import NewJob

# The fields of `run_answer`, as the `result` of a verb names them.
RUN = (
    "job_id state snapshot stdout_log_path stderr_log_path waited_ms elapsed_ms env_vars output since_seq next_seq "
    "truncated gaps? alternate_screen? cursor? fired? timed_out? requested_ms? effective_ms? deduplicated? hint? "
    + job_answer.DESCRIBING
)


class Reply:
    """When a start is answered and how much output the answer shows: `WAITING` and `SHOWN` of
    verbs/shared_args.py."""

    NAMES = (
        "until",
        "yield_ms",
        "background",
        "wait",
        "follow",
        "propagate",
        "wait_poll_ms",
        "tail_lines",
        "max_bytes",
        "raw",
    )

    def __init__(
        self,
        *,
        yield_ms: int,
        until: list[Any] | tuple[Any, ...] = (),
        background: bool = False,
        wait: bool = False,
        follow: bool = False,
        propagate: bool = False,
        wait_poll_ms: int | None = None,
        tail_lines: int = 0,
        max_bytes: int | None = None,
        raw: bool = False,
    ) -> None:
        self.began = time.monotonic()
        self.conditions = _conditions(until, stop_at_prompts=not wait) if until else []
        patience_ms = limits.BACKGROUND_LOOK_MS if background and not until else yield_ms
        self.deadline = None if wait else self.began + patience_ms / 1000
        self.show: dict[str, Any] = {"tail_lines": tail_lines, "max_bytes": max_bytes, "raw": raw}

    @property
    def is_due(self) -> bool:
        """Whether there is nothing to wait for (any more)."""
        return not self.conditions and self.deadline is not None and time.monotonic() >= self.deadline

    @property
    def waits_for_end(self) -> bool:
        """Whether the end of the job is what the answer waits for."""
        return not self.conditions and not self.is_due

    def answer_now(self) -> None:
        """Wait for nothing."""
        self.conditions, self.deadline = [], time.monotonic()

    @classmethod
    def taken_from(cls, args: dict[str, Any]) -> Reply:
        """Take the values out of the arguments of a call."""
        return cls(**{name: args.pop(name) for name in cls.NAMES if name in args})


def _conditions(until: Any, *, stop_at_prompts: bool) -> list[Condition]:
    """Return the checked conditions, before anything is started. Errors: invalid_argument."""
    from outlive.jobs.conditions import parse

    found = parse.parsed(until)
    asks = stop_at_prompts and all(one.name != "input" for one in found)
    return [*found, parse.Condition("input")] if asks else found


def run_job(ctx: Context, plan: Plan, reply: Reply) -> Waiting[dict[str, Any]]:
    """Make and start a job, and answer when it has ended or `reply` is due."""
    new = starting.make(ctx, plan, live=True)
    return (yield from start_made(ctx, plan, new, reply))


def start_made(ctx: Context, plan: Plan, new: NewJob, reply: Reply) -> Waiting[dict[str, Any]]:
    """Start a job whose directory is made, and answer.

    If nothing could be run, the directory is deleted.
    """
    if plan.definition.approval is not None:
        return (yield from _ask_and_answer(ctx, plan, new, reply))
    sock: socket.socket | None = None
    assert new.locks is not None
    try:
        sock = yield from starting.begin(ctx, plan, new.dir, new.locks, awaited=reply.waits_for_end)
        from outlive.jobs import processes  # noqa: F401 - what the answer needs, while the supervisor starts the command

        yield from starting.started(new.dir, sock, new.locks)
    except OutliveError as error:
        ctx.note_unstarted(plan.definition.job_id, error)
        if sock is not None:
            sock.close()
        new.discard()
        ctx.job_id = None
        raise
    except BaseException as error:  # the call was cancelled; the job goes on, and its supervisor holds the locks
        if sock is not None:
            sock.close()
        elif isinstance(error, GeneratorExit) or (plan.definition.host is None and not new.locks.are_given):
            new.discard()  # while it waited for its scope: no supervisor has the job
            ctx.job_id = None
        new.close()
        raise
    job_dir = lookup.open_known(ctx, plan.definition.job_id)
    new.close()
    with job_dir as job:
        return (yield from wait_and_answer(ctx, job, sock, reply, hint=plan.hint))


def _ask_and_answer(ctx: Context, plan: Plan, new: NewJob, reply: Reply) -> Waiting[dict[str, Any]]:
    """Wait for the approval of a job that was just made, start it, and answer."""
    from outlive.store import approval  # late, as below: few jobs are asked about

    job = lookup.open_known(ctx, plan.definition.job_id)
    holder = approval.hold(new.dir)  # before the locks go: from here on it holds the job's environment
    new.close()
    return (yield from ask_and_answer(ctx, plan, job, holder, reply))


def ask_and_answer(ctx: Context, plan: Plan, job: JobDir, holder: int, reply: Reply) -> Waiting[dict[str, Any]]:
    """Wait for the approval of a job, start it, and answer. Closes `job` and `holder`."""
    from outlive.jobs.permission import approval

    if ctx.asks is not None and ctx.asks(plan.definition):
        reply.answer_now()
    with job:
        sock = yield from approval.ask(ctx, plan, job, holder, reply.deadline)
        return (yield from wait_and_answer(ctx, job, sock, reply, hint=plan.hint))


def go_on(ctx: Context, job_id: str, given: Given | None, by: str, reply: Reply) -> Waiting[dict[str, Any]]:
    """Take the answer of the client's user, if there is one, and answer as the call that made the
    job. Errors: job_not_found, invalid_state for a job that was never asked about."""
    from outlive.jobs.permission import approval

    with lookup.open_by_id(ctx, job_id) as job:
        yield from approval.go_on(ctx, job, given, by, reply.deadline)
        return (yield from wait_and_answer(ctx, job, None, reply))


def wait_and_answer(
    ctx: Context, job: JobDir, sock: socket.socket | None, reply: Reply, *, hint: str | None = None
) -> Waiting[dict[str, Any]]:
    """Wait for the end of a started job or until `reply` is due, and answer.

    On `sock` its supervisor reported the start, and will report the end.
    """
    if reply.conditions:
        if sock is not None:
            sock.close()
        return _with_hint(hint, (yield from _wait_and_answer(ctx, job, reply)))
    control = ControlClient(job, output=False, sock=sock)
    try:
        while True:
            found = adoption.inspect_and_adopt(ctx, job)
            if found.state.finished or (reply.deadline is not None and time.monotonic() >= reply.deadline):
                break
            if reply.deadline is not None and _waits_for_input(found, job):
                break  # nothing happens until its question is answered
            yield from control.pause(reply.deadline)
        answer = yield from run_answer(ctx, found, job, began=reply.began, **reply.show)
    finally:
        control.close()  # not before: a supervisor that is heard does not sync the directory that is read here
    return _with_hint(hint, answer)


def _wait_and_answer(ctx: Context, job: JobDir, reply: Reply) -> Waiting[dict[str, Any]]:
    """Wait as the verb `wait` does, from the start of the job on, and answer."""
    from outlive.jobs.conditions.job_wait import JobWait, wait_for

    waited = JobWait(ctx, job, reply.conditions, output_since=0, match_since=0)
    try:
        done = yield from wait_for(ctx, [waited], began=reply.began, limit=reply.deadline)
        answer = yield from run_answer(ctx, waited.found, job, began=reply.began, **reply.show)
        return _with_hint(waited.hint(), answer | {"fired": waited.fired, "timed_out": not done})
    finally:
        waited.close()


def _with_hint(hint: str | None, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer with this sentence before its own hint."""
    return answer | ({"hint": f"{hint} {answer.get('hint', '')}".strip()} if hint else {})


def _waits_for_input(found: Inspection, job: JobDir) -> bool:
    if not found.state.waiting:
        return False
    with Output(job) as output:
        return bool(job_answer.waiting(found, output)["waiting_for_input"])


def run_answer(
    ctx: Context, found: Inspection, job: JobDir, *, began: float, max_bytes: int | None, tail_lines: int, raw: bool
) -> Waiting[dict[str, Any]]:
    """Return the answer of run, start and restart.

    `began` is when the call came (time.monotonic seconds).
    """
    # Of a job that runs a brief answer does not show it
    others = None if ctx.detail == "brief" and not found.state.finished else job_answer.living(found, job)
    with Output(job) as output:
        budget = None if max_bytes else _budget(ctx)
        room = max_bytes or budget or limits.SHOWN_BYTES
        if job_answer.takes_long(found, output, 0, room):
            yield None
        shown = job_answer.new_output(found, job, output, 0, max_bytes=room, raw=raw)
        left = max(0, (budget or 0) - len(shown.text.encode("utf-8", "replace"))) // 2
        snapshot = window.tails(output, tail_lines, max_bytes or (limits.TAIL_BYTES if budget is None else left))
        lost = job_answer.losses(found, output)
        described = job_answer.describe(found, job, output)
        advised = job_answer.advice(found, job, output, described)
    if ctx.client is not None:
        from outlive.jobs import read_cursor

        read_cursor.mark_seen(ctx, job, shown.next_seq)
    answer = {
        "job_id": job.job_id,
        "state": found.state.state,
        **shown.to_dict(),
        **described,
        "started_at": found.state.started_at or found.definition.created_at or timestamp(),
        "snapshot": snapshot,
        **job_answer.paths(job),
        "waited_ms": round((time.monotonic() - began) * 1000),
        "elapsed_ms": job_answer.elapsed_ms(found),
        "env_vars": job_answer.env_vars(found),
        "descendants": others,
    }
    hint = lost.get("hint") or advised or next_step(found, others)
    hint = hint or shell_hint(found, snapshot)
    if found.definition.resources is not None:
        from outlive.jobs.diagnosis import use  # late: most jobs have no resources

        hint = " ".join(filter(None, (use.not_limited(found), hint)))
    return answer | ({"hint": hint} if hint else {})


def _budget(ctx: Context) -> int | None:
    """Return the most bytes that an answer shows, the snapshot included; None where each view has
    a bound of its own."""
    found: int | None = ctx.config.get("exec", "max_output_bytes")
    return limits.MCP_SHOWN_BYTES if found is None and ctx.face == "mcp" else found


# What shells say of a command that was written for another one
_SHELL_ERRORS = ("yntax error", "ad substitution", "unexpected EOF", "[[: not found", "unexpected operator",
    "source: not found", "shopt: not found", "declare: not found", "Illegal option", "event not found")  # fmt: skip


def shell_hint(found: Inspection, snapshot: dict[str, Any]) -> str | None:
    """Return which shell it was, if a failed command seems to have been written for another one."""
    shell = found.definition.shell
    if not shell or not found.state.exit_code:
        return None
    name = shell[0].rpartition("/")[2]
    lines = f"{snapshot['stderr_tail']}\n{snapshot['stdout_tail'] if found.definition.pty else ''}".splitlines()
    errors = (line for line in lines if line.startswith((f"{name}: ", f"{shell[0]}: ")))
    if any(error in line for line in errors for error in _SHELL_ERRORS):
        return f"The shell was `{' '.join(shell)}`."
    return None


def next_step(found: Inspection, descendants: int | None) -> str | None:
    """Return one sentence on what to do next, or None."""
    state = found.state
    if not state.finished:
        if state.state == "created":
            return "It was not started yet. Use wait to be told when it ends, kill to cancel it."
        return "It still runs. Use wait to be told when it ends, poll or log to read on, kill to end it."
    if descendants:
        job = f"job {short_id(found.definition.job_id)}"
        if descendants == 1:
            return f"1 process that {job} started is still alive; kill ends it, and its output still arrives."
        return f"{descendants} processes that {job} started are still alive; kill ends them, and their output still arrives."
    if state.reason == "timeout":
        return "It was ended by its time-out. Start it with a larger timeout (0: none) if it should run longer."
    if state.reason in ("lost", "reboot"):
        return "Its output up to then is complete. Check what it did before running it again."
    if state.reason == "launch" and state.errno is not None:
        words = found.definition.command
        if found.definition.shell is None and len(words[0].split()) > 1:  # ["ls -la | head"]
            return f"No shell ran: words in an array are a program and its arguments. Give one string: {words[0]}"
        if state.errno == "E2BIG":
            return "The command never ran: shorten its words and variables, or put the text into a file."
        return "The command never ran: check its name and PATH."
    return None
