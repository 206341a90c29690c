"""Find earlier runs of the same command, and what changed since.

The same are command, directory, host and sandbox. Only jobs that ended and that exist for this caller count.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

from outlive.answers.other_run import OtherRun
from outlive.core.records import Definition, State
from outlive.core.started import never_ran
from outlive.core.units import seconds_or
from outlive.errors import OutliveError
from outlive.jobs import lookup
from outlive.jobs.context import Context, Principal
from outlive.store.job_dir import JobDir

PREVIOUS, PASSED = "previous", "passed"
_SEARCHED_JOBS = 500  # those made last before this one


def find(caller: Principal, definition: Definition, *, passed: bool = False) -> JobDir | None:
    """Return the last run before the job with this definition, or with `passed` the last that ended with 0. The caller
    closes it."""
    return next(runs_of(caller, definition, before=definition.job_id, passed=passed), None)


def runs_of(
    caller: Principal, wanted: Definition, *, before: str | None = None, passed: bool = False
) -> Iterator[JobDir]:
    """Yield those of the newest jobs, made before this one, that are a run of the same; the caller closes them."""
    command, cwd = (json.dumps(one, separators=(",", ":")) for one in (wanted.command, wanted.cwd))
    parts = (f'"command":{command}'.encode(), f'"cwd":{cwd}'.encode())
    for job, definition in ended(caller, *parts, before=before, passed=passed):
        if are_same(definition, wanted):
            yield job
        else:
            job.close()


def ended(
    caller: Principal, *parts: bytes, before: str | None, passed: bool = False
) -> Iterator[tuple[JobDir, Definition]]:
    """Yield those of the newest jobs, made before this one, that ran and ended, with `passed` with 0, and whose definitions
    hold these texts, as lookup.defined_with; the caller closes them."""
    for job in lookup.defined_with(caller, *parts, before=before, most=_SEARCHED_JOBS):
        try:
            definition, state = job.read_meta(), job.read_state()
        except (OSError, OutliveError):  # damaged, or removed meanwhile
            definition, state = Definition(), None
        has_run = state is not None and state.finished and not never_ran(state.state, state.reason)
        if has_run and not (passed and state is not None and state.ended_badly):
            yield job, definition
        else:
            job.close()


def named(ctx: Context, definition: Definition, text: str) -> JobDir | None:
    """Return the run that a caller means: `previous`, `passed`, or a job. None if there is no such run. Errors:
    as lookup.open_job."""
    if text in (PREVIOUS, PASSED):
        return find(ctx.caller, definition, passed=text == PASSED)
    return lookup.open_job(ctx, text)


def are_same(one: Definition, other: Definition) -> bool:
    """Return whether two jobs are runs of the same."""
    return _facts(one) == _facts(other)


def described(job_id: str, state: State | None) -> OtherRun:
    """Return a run as answers have it, without what differs."""
    run = OtherRun(job_id=job_id, exit_code=None, ago_ms=None)
    if state is not None and state.finished_at:
        run.exit_code = state.exit_code
        now = time.time()
        run.ago_ms = max(0, round((now - seconds_or(state.finished_at, now)) * 1000))
    return run


def _facts(definition: Definition) -> tuple[object, ...]:
    sandbox = definition.sandbox and definition.sandbox.shown
    return definition.command, definition.script, definition.cwd, definition.host, sandbox
