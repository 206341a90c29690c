"""Wait for jobs."""

from __future__ import annotations

import time

from outlive import limits
from outlive.core.ids import short_id
from outlive.core.records import CONTROL, READ
from outlive.jobs import awaited, job_answer, read_cursor
from outlive.jobs.conditions import job_wait, parse
from outlive.render import window
from outlive.store.output.merged import Output
from outlive.verbs.spec import INT, ITEMS, JOB, MAX_BYTES, MS, RAW, SINCE_SEQ, STR, STRS, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.store.job_dir import JobDir


_LAST_LINES = 3  # shown of each job besides the deciding one


def wait(
    ctx: Context,
    *,
    job: list[str] | tuple[str, ...] = (),
    until: list[Any] | tuple[Any, ...] = ("exit",),
    timeout_ms: int | None = None,
    mode: str = "any",
    since_seq: int | None = None,
    poll_ms: int | None = None,
    max_bytes: int,
    raw: bool = False,
) -> Waiting[dict[str, Any]]:
    """Wait until a condition holds for one job, or for all; without a job, for any of the caller's.

    A time-out is a normal answer and ends no job.
    """
    wanted = parse.parsed(until)
    if ctx.rights is not None and any(one.name in parse.EXTERNAL for one in wanted):
        ctx.rights.require(CONTROL, "until with port, http or file")
    began = time.monotonic()
    jobs: list[_Waited] = []
    try:
        opened = awaited.named(ctx, job) if job else awaited.own(ctx)
        jobs.extend(_Waited(ctx, one, since_seq) for one in opened)
        ctx.awaited = [one.job.job_id for one in jobs]
        # A wait for any of several goes on to the next: what it told before does not fire again
        remembers = len(job) != 1 and mode == "any" and since_seq is None
        for one in jobs:
            one.connect(ctx, wanted, read_cursor.told(ctx, one.job) if remembers else {})
        limit = None if timeout_ms is None else began + timeout_ms / 1000
        done = yield from job_wait.wait_for(ctx, [one.wait for one in jobs], began=began, limit=limit, mode=mode)
        chosen = (
            _deciding(jobs, mode) if done else next(one for one in jobs if not one.wait.fired and not one.wait.spent)
        )
        others = [one for one in jobs if one is not chosen]
        shown = {one.job.job_id: one.last_lines(max_bytes // (4 * len(others))) for one in others}
        room = max_bytes - sum(len(text.encode()) for text in shown.values())
        answer = yield from chosen.answer(ctx, room, raw, done=done)
        if len(jobs) > 1 or not job:
            answer["name"] = chosen.wait.found.definition.name
            answer["jobs"] = [one.summary(shown.get(one.job.job_id)) for one in jobs]
        for one in jobs:
            one.mark_told(ctx)
        return answer | {"waited_ms": round((time.monotonic() - began) * 1000), "timed_out": not done}
    finally:
        for one in jobs:
            one.close()


def _deciding(jobs: list[_Waited], mode: str) -> _Waited:
    """Return the job that ended the wait: of several that fired, with `all` the first that failed,
    else the last."""
    fired = [one for one in jobs if one.wait.fired]
    if mode == "any":
        return fired[0]
    return next((one for one in fired if one.wait.in_vain), fired[-1])


class _Waited:
    """One of the jobs, and what is said of it."""

    wait: job_wait.JobWait

    def __init__(self, ctx: Context, job: JobDir, since_seq: int | None) -> None:
        self.job = job
        self._output_since, self._beyond = read_cursor.beginning(ctx, job, since_seq)
        self._match_since = 0 if since_seq is None else self._output_since
        self._printed = 0  # before this call, if that can match

    def connect(self, ctx: Context, wanted: list[parse.Condition], told: dict[str, int]) -> None:
        self.wait = job_wait.JobWait(
            ctx, self.job, wanted, output_since=self._output_since, match_since=self._match_since, told=told
        )
        self._told = told
        if not self._match_since and any(one.name in ("regex", "fail_regex") for one in wanted):
            with Output(self.job) as output:
                self._printed = output.end

    def answer(self, ctx: Context, max_bytes: int, raw: bool, *, done: bool) -> Waiting[dict[str, Any]]:
        found = self.wait.found
        with Output(self.job) as output:
            if job_answer.takes_long(found, output, self._output_since, max_bytes):
                yield None
            shown = job_answer.new_output(found, self.job, output, self._output_since, max_bytes=max_bytes, raw=raw)
            quiet = job_answer.idle_ms(found, output)
            waiting = job_answer.waiting(found, output)
            snippet = job_answer.snippet(found, output) if not shown.text and output.end else None
            lost = job_answer.losses(found, output)
            unresponsive = job_answer.unresponsive(found)
            advised = job_answer.advice(found, self.job, output, {**waiting, **unresponsive})
        read_cursor.mark_seen(ctx, self.job, shown.next_seq)
        fired = self.wait.fired
        if fired and "pattern" in fired and fired["seq"] < self._printed:
            fired["earlier"] = True
        answer = {
            "job_id": self.job.job_id,
            "state": found.state.state,
            "fired": self.wait.fired if done else None,
            "elapsed_ms": job_answer.elapsed_ms(found),
            "exit_code": found.state.exit_code,
            **shown.to_dict(),
            "idle_ms": quiet,
            **waiting,
            **unresponsive,
            **job_answer.place(found, self.job),
            **({"snippet": snippet} if snippet else {}),
            "timeout_ms": found.definition.timeout_ms,
        }
        if found.state.finished:
            answer |= job_answer.outcome(found)
            answer["descendants"] = job_answer.living(found, self.job)
        hint = " ".join(part for part in (self.wait.hint(), advised) if part)
        answer |= ({"hint": hint} if hint else {}) | lost
        answer |= {"message": found.state.message} if found.state.message else {}
        approval = job_answer.approval_of(found, self.job)
        answer |= {"approval": approval} if approval else {}
        return read_cursor.with_hint(self._beyond, answer)

    def last_lines(self, max_bytes: int) -> str:
        """Return the end of the output of a job that is not the deciding one; nothing of a job
        whose end was told before."""
        if "exit" in self._told:
            return ""
        with Output(self.job) as output:
            return window.last_lines(output, _LAST_LINES, min(max_bytes, _LAST_LINES * limits.LAST_LINE_CHARS))

    def summary(self, last_lines: str | None) -> dict[str, Any]:
        state = self.wait.found.state
        return {
            "job_id": self.job.job_id,
            "short_id": short_id(self.job.job_id),
            "name": self.wait.found.definition.name,
            "state": state.state,
            "exit_code": state.exit_code,
            "signal": state.signal,
            "reason": state.reason,
            "fired": self.wait.fired,
            **({"last_lines": last_lines} if last_lines else {}),
        }

    def mark_told(self, ctx: Context) -> None:
        """Remember what this answer tells the client of the job."""
        fired = self.wait.fired
        if fired is not None and ctx.client is not None:
            with Output(self.job) as output:
                read_cursor.mark_told(ctx, self.job, job_wait.mark(fired), output.end)

    def close(self) -> None:
        if hasattr(self, "wait"):
            self.wait.close()
        self.job.close()


VERB = Verb(
    "wait",
    "Wait until a job ends or another condition holds: matching output, a port, a file, silence.",
    wait,
    args=(
        Arg("job", STRS, "The job or jobs; without one, whichever of yours ends first (CLI: of this directory).", default=(), cli="JOB", mcp="job_id",
            aliases=(*JOB.aliases, "job_ids", "jobs"), metavar="JOB", mcp_help="one, several, or none: the first of yours to end"),
        Arg("until", ITEMS, "What to wait for, any of: exit, output, input (a prompt), {regex, stream}, {fail_regex} "
            "(ends it early), {port, host}, {http: URL, status}, {file}, {idle_ms}. CLI: Write regex=PATTERN, port=8080 and so on.",
            default=("exit",), mcp_default=("exit", "input"), metavar="CONDITION",
            mcp_help="any of exit, output, input (a prompt), {regex, stream}, {fail_regex}, {port, host}, {http: URL, status}, "
            "{file}, {idle_ms} (default exit, input)"),
        Arg("timeout_ms", MS, "Answer after this long in any case (CLI: without limit by default).", minimum=0,
            mcp_default=30_000, metavar="DURATION", mcp_help="answer after this long (default 30000)"),
        Arg("mode", STR, "Of several jobs: any one, or all.", default="any", choices=("any", "all"),
            mcp_help="of several jobs (default any)"),
        Arg("since_seq", INT, "Where output and matches count from; without it a match counts from the job's start.",
            minimum=0, aliases=("sinceSeq",), metavar="SEQ", mcp_help=SINCE_SEQ.mcp_help),
        Arg("poll_ms", MS, "Accepted, without effect: waiting is woken by events.", mcp="", cli="--poll-ms",
            hidden=True),
        MAX_BYTES,
        RAW,
    ),
    right=READ,
    result="job_id state exit_code fired elapsed_ms waited_ms timed_out output since_seq next_seq truncated gaps? alternate_screen? cursor? idle_ms waiting_for_input prompt? echo? keyboard? supervisor? supervisor_pid? host? queue? engine? reachable? unreachable_since? machine? snippet? "
    "timeout_ms signal? reason? ended_by? errno? usage? finished_at? duration_ms? descendants? message? approval? dropped_bytes? missing_bytes? hint? name? jobs? "
    "requested_ms? effective_ms?",
    detail="The job's exit code is in the answer; the exit status of this command is 0 whatever it was.\n\n"
    "Conditions, for example: --until port=8080 --until port=localhost:8081 --until regex='ready in .* ms' --until fail_regex=ERROR; or "
    "http=http://127.0.0.1:8080/, file=build/app, idle=5s. With more: '{\"regex\":\"ready\",\"stream\":\"stderr\"}'.",
)  # fmt: skip
