"""The jobs that one call is about: those that it names, those that an argument of a part names, the caller's own with some
tags, or those that a `wait` without a job waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

from outlive import parts
from outlive.answers import sentences
from outlive.core.labels import check_tag_pattern, tag_matches
from outlive.core.real_path import real_path
from outlive.core.records import FINISHED, Definition
from outlive.errors import ENDED_JOBS, OutliveError, argument, invalid, per_face
from outlive.jobs import adoption, lookup
from outlive.jobs.context import Context, Principal
from outlive.jobs.starting import gate
from outlive.jobs.told import ownership
from outlive.store.job_dir import JobDir

_MOST_OWN = 200  # jobs of the caller that a wait is for: each costs some open files


def named(
    ctx: Context, names: Sequence[str], args: Mapping[str, object], open_one: Callable[[str], JobDir]
) -> list[JobDir] | None:
    """Open the jobs that were named, with `open_one`, or those that an argument of a part names (Part.selected); None where
    neither is given. The caller closes them. `args`: of the call.

    Errors: invalid_argument, job_not_found, as `open_one`.
    """
    only = parts.selected(ctx, args)
    if only is None:
        return _each(names, open_one) if names else None
    if names:
        raise invalid("job", f"give {argument('job')} or {only.name}, not both")
    found = []
    for job_id in only.job_ids:
        with suppress(OutliveError):  # removed meanwhile
            found.append(lookup.open_known(ctx.caller, job_id))
    if not found:
        raise OutliveError("job_not_found", f"no job of yours is in {only.name}", hint=only.hint or None)
    return found


@contextmanager
def one_or_several(ctx: Context, job: str | None, args: Mapping[str, object]) -> Iterator[list[JobDir]]:
    """Open the job that was named, or without one those that an argument of a part names. Errors: as `named`."""
    found = named(ctx, () if job is None else (job,), args, partial(lookup.open_job, ctx))
    with ExitStack() as stack:
        yield [stack.enter_context(one) for one in found or ()]


def _each(texts: Iterable[str], open_one: Callable[[str], JobDir]) -> list[JobDir]:
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


@contextmanager
def opened(
    ctx: Context,
    names: Sequence[str],
    tags: Sequence[str],
    of_parts: Mapping[str, object],
    open_one: Callable[[str], JobDir],
    ids: Iterable[str],
) -> Iterator[list[JobDir]]:
    """Open each job that was named (`named`); or of `ids` the caller's own that have all the tags.

    All are opened before anything is done to one: a name that means no job changes nothing. Errors: invalid_argument,
    invalid_tag, job_not_found, as `open_one`.
    """
    given = [name for name, value in {"job": names, "tags": tags, **of_parts}.items() if value not in (None, (), [])]
    if len(given) != 1:
        one, other = (*given, "job", "tags")[:2]
        message = f"give {argument(one)} or {argument(other)}" + (", not both" if given else "")
        ended = f" {ENDED_JOBS}" if ctx.verb == "remove" else ""
        raise invalid("job", message, hint=f"`list` shows the jobs; several are taken, or the tags of your own.{ended}")
    with ExitStack() as stack:
        if not tags:
            found = named(ctx, names, of_parts, open_one) or ()
            yield list({job.job_id: job for job in map(stack.enter_context, found)}.values())
            return
        for tag in tags:
            check_tag_pattern(tag)
        jobs = [stack.enter_context(job) for job in _tagged(ctx, tags, ids)]
        if not jobs:
            raise OutliveError("job_not_found", f"no job of yours has the tags {', '.join(tags)}")
        yield jobs


def in_order(jobs: Sequence[JobDir]) -> list[list[JobDir]]:
    """Return the jobs in the order in which they are ended: first those that no other of them needs (OfJob.needs), then
    those that only these need, and so on."""
    left = {job.job_id: job for job in jobs}
    needs = {job_id: _needed(job) & left.keys() - {job_id} for job_id, job in left.items()}
    order: list[list[JobDir]] = []
    while left:
        needed = {other for job_id in left for other in needs[job_id]}
        layer = [job for job_id, job in left.items() if job_id not in needed] or list(left.values())
        order.append(layer)
        for job in layer:
            del left[job.job_id]
    return order


def _needed(job: JobDir) -> set[str]:
    try:
        return {need.job_id for need in parts.needed_by(job.read_meta())}
    except (OSError, OutliveError):  # damaged: it needs no job that is known
        return set()


def ended(ctx: Context) -> Iterator[JobDir]:
    """Open the caller's own jobs that have ended, one after the other; each is closed before the next is opened."""
    for job_id in lookup.job_ids(ctx.caller):
        job = _opened_in(ctx, job_id, tuple(FINISHED))
        if job is not None:
            with job:
                yield job


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
            job = _opened_in(ctx, job_id, states) if count < _MOST_OWN else None
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
        return ctx.cwd is not None and real_path(definition.local_cwd) == real_path(ctx.cwd)
    return ownership.is_own(ctx, definition)


def _untold(caller: Principal) -> Iterator[str]:
    if caller.inbox is None:
        return
    for job_id in caller.inbox.ids():
        told = caller.inbox.told(job_id)
        if told is not None and not told.end:
            yield job_id


def _opened_in(ctx: Context, job_id: str, states: tuple[str, ...]) -> JobDir | None:
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


def _tagged(ctx: Context, tags: Sequence[str], ids: Iterable[str]) -> Iterator[JobDir]:
    for job_id in ids:
        definition = lookup.definition(ctx.store, job_id)
        if definition is None or not all(tag_matches(tag, definition.tags) for tag in tags):
            continue
        if is_mine(ctx, definition):
            try:
                yield lookup.open_known(ctx.caller, job_id)
            except OutliveError:  # removed meanwhile
                continue
