"""A call that starts a job: when it is answered, and everything between the plan and the answer. For
run, start and restart.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from types import ModuleType
from typing import Any

from outlive import limits
from outlive.answers import advice, sentences
from outlive.answers.starting import Started
from outlive.core.records import Awaits, Definition
from outlive.errors import OutliveError, from_os
from outlive.jobs import acts, adoption, lookup
from outlive.jobs.context import Context
from outlive.jobs.starting import gate, making
from outlive.jobs.starting.gate import Holding
from outlive.jobs.starting.plan import Plan, Timing
from outlive.store.job_dir import JobDir
from outlive.store.new_job import NewJob
from outlive.system.waiting import Cancelled


class StartCall:
    """A call that starts a job, which its caller has planned."""

    def __init__(self, asked: Timing, *, began: float | None = None) -> None:
        self.began = time.monotonic() if began is None else began
        if asked.until:
            from outlive.jobs.conditions.job_wait import Until  # late: 6 ms, and few starts name a condition

            self.until: Until | None = Until(asked.until, stop_at_prompts=not asked.wait)
        else:
            self.until = None
        patience_ms = limits.BACKGROUND_LOOK_MS if asked.background and not asked.until else asked.yield_ms
        self.deadline = None if asked.wait else self.began + patience_ms / 1000
        self.asked = asked

    @property
    def awaits(self) -> Awaits | None:
        """What a restart of the job is to wait for as well; None if this call names nothing."""
        until, background = list(self.asked.until), bool(self.asked.background)
        return Awaits(until=until, background=background) if until or background else None

    @property
    def waits_for_end(self) -> bool:
        """Whether the end of the job is what the answer waits for."""
        return self.until is None and (self.deadline is None or time.monotonic() < self.deadline)

    def check(self, ctx: Context, definition: Definition) -> None:
        """Check, before anything is started, what the conditions of the answer ask for. Errors: denied."""
        if self.until is not None:
            self.until.check(ctx, definition)

    @classmethod
    def taken_from(cls, args: dict[str, Any]) -> StartCall:
        """Take the values out of the arguments of a call."""
        return cls(Timing(**{name: args.pop(name) for name in Timing.FIELDS if name in args}))

    # --- from the plan to the answer ---

    def run(self, ctx: Context, plan: Plan) -> Started:
        """Make and start a job, and answer when it has ended or this is due."""
        try:
            self.check(ctx, plan.definition)
            new = making.make(ctx, plan, live=True)
        except BaseException:
            plan.close()
            raise
        return self.start(ctx, plan, new)

    def start(self, ctx: Context, plan: Plan, new: NewJob) -> Started:
        """Start a job whose directory is made, and answer.

        If nothing could be run, the directory is deleted.
        """
        held = gate.of(plan.definition)
        if held is not None:
            with closing(new):
                holder = held.hold(new.dir)  # before the locks go: from here on it holds the job's environment
            return self.start_held(ctx, plan, held, holder)
        sock: socket.socket | None = None
        assert new.locks is not None
        with closing(new):
            try:
                sock = making.hand_over(ctx, plan, new.dir, new.locks, awaited=self.waits_for_end)
                _answering()
                making.await_start(new.dir, sock, new.locks)
            except OutliveError as error:
                acts.never_started(ctx, plan.definition.job_id, error)
                making.unmake(ctx, new)
                raise
            except BaseException as error:
                # The call was cancelled; the job goes on, and its supervisor holds the locks
                is_host = plan.definition.host is not None
                if sock is None and (isinstance(error, Cancelled) or not (is_host or new.locks.are_given)):
                    making.unmake(ctx, new)  # while it waited for its scope: no supervisor has the job
                raise
            with _named(plan.definition.job_id):
                adoption.require_in_place(new.dir)
                job_dir = lookup.open_known(ctx.caller, plan.definition.job_id)
        with job_dir as job:
            return self.answer(ctx, job, sock, hint=plan.hint)

    def start_held(self, ctx: Context, plan: Plan, held: Holding, holder: int) -> Started:
        """Wait until a job may start, start it, and answer. Closes `holder`."""
        if ctx.asks is not None and ctx.asks(plan.definition):
            self.until, self.deadline = None, time.monotonic()  # its answer waits for nothing
        try:
            waiting = lookup.open_known(ctx.caller, plan.definition.job_id)
        except BaseException:
            plan.close()
            if holder >= 0:
                os.close(holder)
            raise
        with waiting as job:
            sock = held.wait(ctx, plan, job, holder, self.deadline)
            return self.answer(ctx, job, sock, hint=plan.hint)

    def answer(self, ctx: Context, job: JobDir, sock: socket.socket | None, *, hint: str | None = None) -> Started:
        """Wait for the end of a started job or until this is due, and answer. An error names the job.

        On `sock` its supervisor reported the start, and will report the end.
        """
        noted = advice.told(advice.PLAN, hint)
        made: Started
        with _named(job.job_id):
            if self.until is None:
                made = _answering().at_end(
                    ctx, job, sock, began=self.began, deadline=self.deadline, asked=self.asked, noted=noted
                )
                return made
            if sock is not None:
                sock.close()
            waited = self.until.wait(ctx, job, began=self.began, limit=self.deadline)
            noted += advice.told(advice.CONDITION, waited.hint())
            made = _answering().made(ctx, waited.found, job, began=self.began, asked=self.asked, noted=noted)
            made.fired, made.timed_out, made.held_by = waited.fired, not waited.is_over, waited.held_by
            return made


@contextmanager
def _named(job_id: str) -> Iterator[None]:
    """Have an error name the job that was started: without its id the caller would run the command a second time."""
    try:
        yield
    except OSError as error:
        raise _with_job(from_os(f"answering for job {job_id}", error), job_id) from error
    except OutliveError as error:
        if error.code != "job_not_found":  # it was removed meanwhile
            _with_job(error, job_id)
        raise


def _with_job(error: OutliveError, job_id: str) -> OutliveError:
    error.hint = sentences(error.hint, f"Job {job_id} was started all the same: status shows it.")
    error.details = {**(error.details or {}), "job_id": job_id}
    return error


def _answering() -> ModuleType:
    """Return the half of this that comes after a start. The first call loads it, while the command starts."""
    from outlive.jobs.starting import answer  # late: a fifth of `run`, which the command takes to start

    return answer
