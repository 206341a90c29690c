"""Start a command as a job; with a `dedupe_key` only if no job with this key of the owner runs in the directory.

The owner is meant by name, not the session: two windows of a client that start the same server are to share it. What ended
sessions left counts too."""

from __future__ import annotations

import os
import time
from typing import Any

from outlive import limits, parts
from outlive.answers.starting import Started
from outlive.core.ids import new_id
from outlive.core.records import Definition
from outlive.errors import OutliveError, from_os
from outlive.jobs import adoption, lookup
from outlive.jobs import definition as definition_module
from outlive.jobs.context import Context, Principal
from outlive.jobs.starting import gate, making
from outlive.jobs.starting.start_and_wait import StartCall
from outlive.jobs.told import ownership
from outlive.store.inspection import handed_over
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.system import locks
from outlive.system.fds import Closing
from outlive.system.waiting import pause


def run(ctx: Context, **args: Any) -> Started:
    """Start a job, and answer when it has ended or after `yield_ms`."""
    instead = parts.run_instead(ctx, args)
    if isinstance(instead, Started):
        return instead
    call = StartCall.taken_from(args)
    plan = definition_module.plan(ctx, new_id(), start_now=True, **args)
    plan.definition = Definition.replace(plan.definition, awaits=call.awaits)
    if plan.definition.dedupe_key is None:
        return call.run(ctx, plan)
    try:
        call.check(ctx, plan.definition)
        with Closing(_lock(ctx.caller)):
            other = _running(ctx, plan.definition)
            new = making.make(ctx, plan, live=True) if other is None else None
    except BaseException:
        plan.close()
        raise
    if new is not None:
        return call.start(ctx, plan, new)
    plan.close()
    assert other is not None
    with lookup.open_by_id(ctx, other) as job:
        answer = call.answer(ctx, job, None)
    answer.deduplicated = True
    return answer


def _lock(caller: Principal) -> int:
    """Take the lock around the starts of jobs with a key, so that two clients that start one at the same moment get one
    job. Return the open file that holds it. Errors: io_error, also if another process does not release it in time."""
    until = time.monotonic() + limits.CONTROL_S
    fd = -1
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(".dedupe.lock", flags, 0o600, dir_fd=caller.store.fd)
        locks.flock(fd, until, lambda: pause((), time.monotonic() + limits.SWEEP_INTERVAL_S))
        return fd
    except BaseException as error:
        if fd >= 0:
            os.close(fd)
        if isinstance(error, OSError):
            raise from_os(f"locking {caller.store.path}/.dedupe.lock", error, on="store") from error
        raise


def _running(ctx: Context, wanted: Definition) -> str | None:
    """Return the id of the job with the same key, owner, host and directory that goes on; None if there
    is none."""
    for job_id in lookup.live_ids(ctx.caller):
        try:
            with lookup.open_known(ctx.caller, job_id) as job:
                other = job.read_meta()
                if not _is_same(ctx, other, wanted) or not _is_in(job, other, wanted.cwd):
                    continue
                if _goes_on(job, adoption.inspect_and_adopt(ctx, job)):
                    return job_id
        except (OSError, OutliveError):
            continue
    return None


def _is_same(ctx: Context, one: Definition, wanted: Definition) -> bool:
    """Return whether two jobs have the same key, host and owner."""
    if (one.dedupe_key, one.host) != (wanted.dedupe_key, wanted.host):
        return False
    is_left = wanted.session is not None and ownership.is_own(ctx, one)
    return is_left or (one.owner, one.scope) == (wanted.owner, wanted.scope)


def _is_in(job: JobDir, definition: Definition, cwd: str) -> bool:
    """Return whether a job was started in a directory. Another machine may have told since what the
    directory is called there."""
    if definition.cwd == cwd or definition.host is None:
        return definition.cwd == cwd
    record = handed_over.read(job)
    return record is not None and record.cwd == cwd


def _goes_on(job: JobDir, inspection: Inspection) -> bool:
    """Return whether the job runs, or waits for approval or for its start."""
    if inspection.state.state != "created":
        return bool(inspection.state.state == "running")
    is_there = inspection.definition.host is not None and handed_over.read(job) is not None
    return is_there or inspection.state.waits or gate.is_held(inspection.definition)
