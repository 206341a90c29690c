"""Wait for jobs."""

from __future__ import annotations

import time
from contextlib import ExitStack
from functools import partial

from outlive import limits
from outlive.answers import advice
from outlive.answers.reading import Wait, Waited
from outlive.core.ids import short_id
from outlive.core.records import CONTROL
from outlive.jobs import job_answer, lookup, several
from outlive.jobs.conditions import job_wait, parse
from outlive.jobs.conditions.condition import Condition
from outlive.jobs.context import Context
from outlive.jobs.interaction import reading, shown_output
from outlive.jobs.starting import boundary
from outlive.jobs.told import known_to_session
from outlive.render import ends, sources
from outlive.render.sources import View
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output

_PATTERNS = ("regex", "fail_regex")
_LAST_LINES = 3  # shown of each job besides the deciding one


def wait(
    ctx: Context,
    *,
    job: list[str] | tuple[str, ...] = (),
    until: list[object] | tuple[object, ...] = ("exit",),
    timeout_ms: int | None = None,
    mode: str = "any",
    since_seq: int | None = None,
    poll_ms: int | None = None,
    max_bytes: int,
    raw: bool = False,
    show: str | None = None,
    **of_parts: object,
) -> Wait:
    """Wait until a condition holds for one job, or for all; without a job, for any of the caller's, or of those that an
    argument of a part names. A time-out is a normal answer and ends no job."""
    wanted = parse.parsed(until)
    if boundary.look_outside(wanted):
        ctx.caller.rights.require(CONTROL, "until with port, http or file")
    limits_of_caller = boundary.reach(ctx.caller, wanted)
    began = time.monotonic()
    with ExitStack() as stack:
        named = several.named(ctx, job, of_parts, partial(lookup.open_job, ctx))
        opened = [stack.enter_context(one) for one in (several.own(ctx) if named is None else named)]
        ctx.awaited = [one.job_id for one in opened]
        if ctx.inbox is not None:
            ctx.inbox.waits.append(ctx.awaited)
            stack.callback(ctx.inbox.waits.remove, ctx.awaited)
        # A wait for any of several goes on to the next: what was reported does not fire again. A wait for one goes on
        # to the next line that matches
        remembers = len(job) != 1 and mode == "any" and since_seq is None
        patterns = (
            {one.mark for one in wanted if one.name in _PATTERNS} if len(job) == 1 and since_seq is None else set()
        )
        jobs: list[_WaitedJob] = []
        for job_dir in opened:
            if limits_of_caller is not None:
                limits_of_caller.require(job_dir.read_meta(), wanted)
            told = known_to_session.reported(ctx, job_dir, here=not remembers) if remembers or patterns else {}
            told = told if remembers else {mark: told[mark] for mark in patterns & told.keys()}
            jobs.append(_WaitedJob(ctx, job_dir, wanted, since_seq, told))
            stack.callback(jobs[-1].wait.close)
        limit = None if timeout_ms is None else began + timeout_ms / 1000
        done = job_wait.wait_for(ctx, [one.wait for one in jobs], began=began, limit=limit, mode=mode)
        chosen = (
            _deciding(jobs, mode) if done else next(one for one in jobs if not one.wait.is_over and not one.wait.spent)
        )
        # Of a job that goes on and that the call did not name, another job's end says nothing
        others = [one for one in jobs if one is not chosen and (job or not done or one.wait.is_over or one.is_over)]
        shown = {one.job.job_id: one.last_lines(ctx, max_bytes // (4 * len(others))) for one in others}
        room = max_bytes - sum(len(text.encode()) for text in shown.values())
        answer = chosen.answer(ctx, sources.view_of(ctx.config, room, raw=raw, show=show), done=done)
        if len(jobs) > 1 or not job:
            answer.name = chosen.wait.found.definition.name
            answer.jobs = [one.summary(shown.get(one.job.job_id)) for one in jobs]
        for one in jobs:
            one.mark_told(ctx)
        answer.waited_ms = round((time.monotonic() - began) * 1000)
        return answer


def _deciding(jobs: list[_WaitedJob], mode: str) -> _WaitedJob:
    """Return the job that ended the wait: of several that fired, with `all` the first that failed, else the last."""
    fired = [one for one in jobs if one.wait.is_over]
    if mode == "any":
        return fired[0]
    return next((one for one in fired if one.wait.in_vain), fired[-1])


class _WaitedJob:
    """One of the jobs, and what is said of it."""

    def __init__(
        self, ctx: Context, job: JobDir, wanted: list[Condition], since_seq: int | None, told: dict[str, int]
    ) -> None:
        self.job = job
        self._output_since, self._beyond = known_to_session.beginning(ctx, job, since_seq)
        match_since = 0 if since_seq is None else self._output_since
        self._told = told
        self._printed = 0  # before this call, if that can match
        if not match_since and any(one.name in _PATTERNS for one in wanted):
            with Output(job) as output:
                self._printed = output.end
        self.wait = job_wait.JobWait(
            ctx, job, wanted, output_since=self._output_since, match_since=match_since, told=told
        )

    def answer(self, ctx: Context, wanted: View, *, done: bool) -> Wait:
        inspection = self.wait.found
        noted = [*advice.told(advice.CALL, self._beyond), *advice.told(advice.CONDITION, self.wait.hint())]
        polled = reading.of(ctx, inspection, self.job, self._output_since, wanted, noted)
        known_to_session.mark_seen(ctx, self.job, polled.reading.shown.next_seq)
        fired = self.wait.fired
        if fired and "pattern" in fired and fired["seq"] < self._printed:
            fired["earlier"] = True
        return Wait(
            fired=fired if done else None,
            held_by=self.wait.held_by,
            elapsed_ms=job_answer.elapsed_ms(inspection),
            exit_code=inspection.state.exit_code,
            reading=polled.reading,
            since=polled.since,
            snippet=polled.snippet or None,
            waited_ms=0,
            timed_out=not done,
        )

    @property
    def is_over(self) -> bool:
        return self.wait.found.state.finished

    def last_lines(self, ctx: Context, max_bytes: int) -> str:
        """Return the end of the output of a job that is not the deciding one, of a failed one with the line that says why;
        nothing of a job whose end was told before."""
        if "exit" in self._told:
            return ""
        room = min(max_bytes, _LAST_LINES * limits.LAST_LINE_CHARS)
        with Output(self.job) as output:
            line = shown_output.why(ctx.caller, self.wait.found, output)
            return ends.last_lines_with(output, line, _LAST_LINES, room)

    def summary(self, last_lines: str | None) -> Waited:
        state = self.wait.found.state
        return Waited(
            job_id=self.job.job_id,
            short_id=short_id(self.job.job_id),
            name=self.wait.found.definition.name,
            state=state.state,
            exit_code=state.exit_code,
            signal=state.signal,
            reason=state.reason,
            fired=self.wait.fired,
            last_lines=last_lines or None,
        )

    def mark_told(self, ctx: Context) -> None:
        """Remember what this answer tells the client of the job."""
        fired = self.wait.fired
        if fired is not None and ctx.caller.client is not None:
            with Output(self.job) as output:
                position = output.end if self.wait.matched_to is None else self.wait.matched_to
                known_to_session.mark_reported(ctx, self.job, job_wait.mark(fired), position)
