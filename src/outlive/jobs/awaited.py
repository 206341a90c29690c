"""Find the jobs that a call names, and those that a `wait` without a job waits for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack

from outlive.answers import sentences
from outlive.core.records import FINISHED, Definition
from outlive.errors import OutliveError, per_face
from outlive.jobs import adoption, lookup
from outlive.jobs.context import Context, Principal
from outlive.jobs.starting import gate
from outlive.jobs.told import ownership
from outlive.store.job_dir import JobDir

_MOST = 200  # each costs some open files


def named(texts: Iterable[str], open_one: Callable[[str], JobDir]) -> list[JobDir]:
    """Open the jobs that were named, each once. The caller closes them.

    Errors: as `open_one`, with what is wrong with each of the names; none is left open then.
    """
    errors: dict[str, OutliveError] = {}
    with ExitStack() as opened:
        jobs = []
        for text in dict.fromkeys(texts):
            try:
                jobs.append(opened.enter_context(open_one(text)))
            except OutliveError as error:
                errors[text] = error
        if errors:
            raise _of_all(errors)
        opened.pop_all()
    return jobs


def _of_all(errors: dict[str, OutliveError]) -> OutliveError:
    """Return one error for what is wrong with each of several names; its code is that of the first."""
    first, *others = errors.values()
    if not others:
        return first
    hints = {text: error.hint for text, error in errors.items() if error.hint}
    is_one = len(hints) == len(errors) and len(set(hints.values())) == 1
    said = [first.hint] if is_one else [f"{text!r}: {hint}" for text, hint in hints.items()]
    candidates = [one for error in errors.values() for one in (error.details or {}).get("candidates", ())]
    return OutliveError(
        first.code,
        "; ".join(dict.fromkeys(error.message for error in errors.values())),
        retryable=all(error.retryable for error in errors.values()),
        hint=sentences(*said),
        details={**(first.details or {}), **({"candidates": candidates} if candidates else {})} or None,
    )


def own(ctx: Context) -> Iterator[JobDir]:
    """Open the jobs of this session whose end it was not told of; if there is none, its own that
    run; for a person, those that run in this directory. The caller closes them.

    Errors: job_not_found if there is none.
    """
    count = 0
    for ids, states in ((_untold(ctx.caller), ("running", *FINISHED)), (lookup.live_ids(ctx.caller), ("running",))):
        if count:
            return
        for job_id in ids:
            job = opened(ctx, job_id, states) if count < _MOST else None
            if job is not None:
                count += 1
                yield job
    if not count:
        where = "of this directory" if ownership.session_of(ctx.caller) is None else "of this session"
        hint = per_face(
            "`outlive list` shows jobs that have ended, with --all also those of other directories.",
            "`list` shows jobs that have ended, with all also those of other sessions.",
        )
        raise OutliveError("job_not_found", f"no job {where} runs", hint=hint)


def is_mine(ctx: Context, definition: Definition) -> bool:
    """Return whether a job is one of this session; for a person, of this directory."""
    if ownership.session_of(ctx.caller) is None:
        return ctx.cwd is not None and os.path.realpath(definition.place) == os.path.realpath(ctx.cwd)
    return ownership.is_own(ctx, definition)


def _untold(caller: Principal) -> Iterator[str]:
    if caller.inbox is None:
        return
    for job_id in caller.inbox.ids():
        told = caller.inbox.told(job_id)
        if told is not None and not told.end:
            yield job_id


def opened(ctx: Context, job_id: str, states: tuple[str, ...]) -> JobDir | None:
    """Open the job if it is the caller's and in one of these states."""
    try:
        job = lookup.open_known(ctx.caller, job_id)
    except OutliveError:  # removed meanwhile
        return None
    try:
        inspection = adoption.inspect_and_adopt(ctx, job)
        state = inspection.state
        is_pending = state.waits or (state.state == "created" and gate.is_held(inspection.definition))
        if is_mine(ctx, inspection.definition) and (is_pending or state.state in states):
            return job
    except (OSError, OutliveError):
        pass
    job.close()
    return None
