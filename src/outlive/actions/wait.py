"""Wait for jobs."""

from __future__ import annotations

import time

from outlive.actions import access, answers, window
from outlive.actions.driver import Pause
from outlive.actions.line import Line
from outlive.actions.spec import JOB, MAX_BYTES, MS, RAW, SINCE_SEQ, STR, STRS, Arg, Verb
from outlive.errors import invalid, nearest
from outlive.store.output import Output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.actions.driver import Waiting
    from outlive.actions.spec import Context
    from outlive.store.jobdir import JobDir
    from outlive.store.truth import Look

CONDITIONS = ("exit", "output", "input")


def wait(
    ctx: Context,
    *,
    job: list[str],
    until: list[str] | tuple[str, ...] = ("exit",),
    timeout_ms: int | None = None,
    mode: str = "any",
    since_seq: int | None = None,
    poll_ms: int | None = None,
    max_bytes: int,
    raw: bool = False,
) -> Waiting[dict[str, Any]]:
    """Until a condition holds for one job, or for all of them. A time-out is a normal answer; no job is ended by it."""
    conditions = _conditions(until)
    began = time.monotonic()
    limit = None if timeout_ms is None else began + timeout_ms / 1000
    if not job:
        raise invalid("job", "name at least one job")
    jobs: list[_Waited] = []
    try:
        for text in dict.fromkeys(job):
            jobs.append(_Waited(ctx, text, since_seq))
            jobs[-1].connect("output" in conditions)
        while True:
            for one in jobs:
                one.check(ctx, conditions)
            fired = [one for one in jobs if one.fired]
            done = bool(fired) if mode == "any" else len(fired) == len(jobs)
            if done or (limit is not None and time.monotonic() >= limit):
                break
            yield from _pause([one for one in jobs if not one.fired], limit)
        chosen = (fired[0] if mode == "any" else fired[-1]) if done else next(one for one in jobs if not one.fired)
        answer = chosen.answer(ctx, max_bytes, raw, done=done)
        if len(jobs) > 1:
            answer["jobs"] = [one.summary() for one in jobs]
        return answer | {"waited_ms": round((time.monotonic() - began) * 1000), "timed_out": not done}
    finally:
        for one in jobs:
            one.close()


def _conditions(until: list[str] | tuple[str, ...] | str) -> set[str]:
    given = [until] if isinstance(until, str) else list(until)
    for condition in given:
        if condition not in CONDITIONS:
            near = nearest(condition, list(CONDITIONS))
            hint = f"Did you mean {near}?" if near else f"Known: {', '.join(CONDITIONS)}."
            raise invalid("until", f"unknown condition {condition!r}", hint=hint)
    return set(given) or {"exit"}


def _pause(waiting: list[_Waited], limit: float | None) -> Waiting[None]:
    """Until one of them has something to tell."""
    if len(waiting) == 1:
        yield from waiting[0].line.pause(limit)
        return
    fds: list[int] = []
    deadline = limit
    for one in waiting:
        for pause in one.line.pause(limit):  # one look at what it would wait for
            fds += pause.fds
            deadline = pause.deadline if deadline is None else min(deadline, pause.deadline or deadline)
            break
        else:
            return
    yield Pause(tuple(fds), deadline)
    for one in waiting:
        one.line.drain()


class _Waited:
    """One of the jobs that are waited for."""

    def __init__(self, ctx: Context, text: str, since_seq: int | None) -> None:
        self.job: JobDir = access.open_job(ctx, text)
        self._since = access.seen(ctx, self.job) if since_seq is None else since_seq
        self.fired: dict[str, Any] | None = None
        self.found: Look | None = None

    def connect(self, output: bool) -> None:
        self.line = Line(self.job, output=output)

    def check(self, ctx: Context, conditions: set[str]) -> None:
        if self.fired:
            return
        self.found = access.look(ctx, self.job)
        state = self.found.state
        if {"output", "input"} & conditions:
            with Output(self.job) as output:
                happened = {
                    "output": output.end > self._since,
                    "input": answers.waiting(self.found, output)["waiting_for_input"],
                }
            for name, holds in happened.items():
                if holds and name in conditions:
                    self.fired = {"condition": name, "job_id": self.job.job_id}
                    return
        if state.finished or (state.state == "unknown" and not self.found.supervised):  # nothing more can come
            self.fired = {"condition": "exit", "job_id": self.job.job_id}

    def answer(self, ctx: Context, max_bytes: int, raw: bool, *, done: bool) -> dict[str, Any]:
        found = self.found
        assert found is not None
        with Output(self.job) as output:
            more = not found.state.finished
            shown = window.show(self.job, output, self._since, output.end, max_bytes=max_bytes, raw=raw, more=more)
            quiet = answers.idle_ms(found, output)
            waiting = answers.waiting(found, output)
        access.mark_seen(ctx, self.job, shown.next_seq)
        answer = {
            "job_id": self.job.job_id,
            "state": found.state.state,
            "fired": self.fired if done else None,
            "elapsed_ms": answers.elapsed_ms(found),
            "exit_code": found.state.exit_code,
            **shown.to_dict(),
            "idle_ms": quiet,
            **waiting,
            "timeout_ms": found.definition.timeout_ms,
        }
        if found.state.finished:
            answer |= answers.outcome(found)
            answer["descendants"] = len(access.descendants(found))
        hint = answers.input_hint(found, answer)
        answer |= ({"hint": hint} if hint else {}) | answers.losses(found)
        return answer | ({"message": found.state.message} if found.state.message else {})

    def summary(self) -> dict[str, Any]:
        assert self.found is not None
        state = self.found.state
        return {
            "job_id": self.job.job_id,
            "state": state.state,
            "exit_code": state.exit_code,
            "reason": state.reason,
            "fired": self.fired,
        }

    def close(self) -> None:
        if hasattr(self, "line"):
            self.line.close()
        self.job.close()


VERB = Verb(
    "wait",
    "Wait until a job ends (or puts something out, or waits for input).",
    wait,
    args=(
        Arg("job", STRS, "The job or jobs.", required=True, cli="JOB", mcp="job_id",
            aliases=(*JOB.aliases, "job_ids", "jobs"), metavar="JOB"),
        Arg("until", STRS, "What to wait for: exit, output, input (it waits for input); any of them.",
            default=("exit",), mcp_default=("exit", "input"), metavar="CONDITION"),
        Arg("timeout_ms", MS, "Answer after this long in any case (CLI: without limit by default).", minimum=0,
            mcp_default=30_000, aliases=("timeout",), metavar="DURATION"),
        Arg("mode", STR, "Of several jobs: any one, or all.", default="any", choices=("any", "all")),
        SINCE_SEQ,
        Arg("poll_ms", MS, "Accepted, without effect: waiting is woken by events.", mcp="", cli="--poll-ms",
            hidden=True),
        MAX_BYTES,
        RAW,
    ),
    result="job_id state exit_code fired elapsed_ms waited_ms timed_out output since_seq next_seq truncated idle_ms waiting_for_input prompt? echo? "
    "timeout_ms signal? reason? ended_by? errno? finished_at? duration_ms? descendants? message? dropped_bytes? hint? jobs? "
    "requested_ms? effective_ms?",
    detail="The job's exit code is in the answer; the exit status of this command is 0 whatever it was.",
)  # fmt: skip
