"""Wait for jobs."""

from __future__ import annotations

import time

from outlive.errors import invalid
from outlive.jobs import job_answer, lookup, processes, read_cursor
from outlive.jobs.conditions import job_wait, parse
from outlive.store.output.merged import Output
from outlive.verbs.spec import INT, ITEMS, JOB, MAX_BYTES, MS, RAW, SINCE_SEQ, STR, STRS, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.store.job_dir import JobDir


def wait(
    ctx: Context,
    *,
    job: list[str],
    until: list[Any] | tuple[Any, ...] = ("exit",),
    timeout_ms: int | None = None,
    mode: str = "any",
    since_seq: int | None = None,
    poll_ms: int | None = None,
    max_bytes: int,
    raw: bool = False,
) -> Waiting[dict[str, Any]]:
    """Wait until a condition holds for one job, or for all.

    A time-out is a normal answer and ends no job.
    """
    wanted = parse.parsed(until)
    began = time.monotonic()
    if not job:
        raise invalid("job", "name at least one job")
    jobs: list[_Waited] = []
    try:
        for text in dict.fromkeys(job):
            jobs.append(_Waited(ctx, lookup.open_job(ctx, text), since_seq))
            jobs[-1].connect(ctx, wanted)
        limit = None if timeout_ms is None else began + timeout_ms / 1000
        done = yield from job_wait.wait_for(ctx, [one.wait for one in jobs], began=began, limit=limit, mode=mode)
        chosen = _deciding(jobs, mode) if done else next(one for one in jobs if not one.wait.fired)
        answer = chosen.answer(ctx, max_bytes, raw, done=done)
        if len(jobs) > 1:
            answer["jobs"] = [one.summary() for one in jobs]
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

    def connect(self, ctx: Context, wanted: list[parse.Condition]) -> None:
        self.wait = job_wait.JobWait(
            ctx, self.job, wanted, output_since=self._output_since, match_since=self._match_since
        )

    def answer(self, ctx: Context, max_bytes: int, raw: bool, *, done: bool) -> dict[str, Any]:
        found = self.wait.found
        with Output(self.job) as output:
            shown = job_answer.new_output(found, self.job, output, self._output_since, max_bytes=max_bytes, raw=raw)
            quiet = job_answer.idle_ms(found, output)
            waiting = job_answer.waiting(found, output)
            snippet = job_answer.snippet(found, output) if not shown.text and output.end else None
            lost = job_answer.losses(found, output)
            unresponsive = job_answer.unresponsive(found)
            advised = job_answer.advice(found, self.job, output, {**waiting, **unresponsive})
        read_cursor.mark_seen(ctx, self.job, shown.next_seq)
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
            **({"snippet": snippet} if snippet else {}),
            "timeout_ms": found.definition.timeout_ms,
        }
        if found.state.finished:
            answer |= job_answer.outcome(found)
            answer["descendants"] = len(processes.descendants(found, self.job))
        hint = " ".join(part for part in (self.wait.hint(), advised) if part)
        answer |= ({"hint": hint} if hint else {}) | lost
        answer |= {"message": found.state.message} if found.state.message else {}
        return read_cursor.with_hint(self._beyond, answer)

    def summary(self) -> dict[str, Any]:
        state = self.wait.found.state
        return {
            "job_id": self.job.job_id,
            "state": state.state,
            "exit_code": state.exit_code,
            "reason": state.reason,
            "fired": self.wait.fired,
        }

    def close(self) -> None:
        if hasattr(self, "wait"):
            self.wait.close()
        self.job.close()


VERB = Verb(
    "wait",
    "Wait until a job ends or another condition holds: matching output, a port, a file, silence.",
    wait,
    args=(
        Arg("job", STRS, "The job or jobs.", required=True, cli="JOB", mcp="job_id",
            aliases=(*JOB.aliases, "job_ids", "jobs"), metavar="JOB", mcp_help="one or several"),
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
    result="job_id state exit_code fired elapsed_ms waited_ms timed_out output since_seq next_seq truncated gaps? alternate_screen? cursor? idle_ms waiting_for_input prompt? echo? supervisor? supervisor_pid? snippet? "
    "timeout_ms signal? reason? ended_by? errno? finished_at? duration_ms? descendants? message? dropped_bytes? missing_bytes? hint? jobs? "
    "requested_ms? effective_ms?",
    detail="The job's exit code is in the answer; the exit status of this command is 0 whatever it was.\n\n"
    "Conditions, for example: --until port=8080 --until port=localhost:8081 --until regex='ready in .* ms' --until fail_regex=ERROR; or "
    "http=http://127.0.0.1:8080/, file=build/app, idle=5s. With more: '{\"regex\":\"ready\",\"stream\":\"stderr\"}'.",
)  # fmt: skip
