"""The jobs that one call is about: those that it names, those that an argument of a part names, or the caller's own with
some tags."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress

from outlive import parts
from outlive.answers.ending import Deleted, EndedJob
from outlive.core.labels import check_tag_pattern, tag_matches
from outlive.core.records import FINISHED
from outlive.errors import ENDED_JOBS, OutliveError, argument, invalid
from outlive.jobs import adoption, awaited, lookup
from outlive.jobs.context import Context
from outlive.store.inspection import inspect
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir


def named(
    ctx: Context, names: Sequence[str], args: Mapping[str, object], open_one: Callable[[str], JobDir]
) -> list[JobDir] | None:
    """Open the jobs that were named, with `open_one`, or those that an argument of a part names (Part.selected); None where
    neither is given. The caller closes them. `args`: of the call.

    Errors: invalid_argument, job_not_found, as `open_one`.
    """
    only = parts.selected(ctx, args)
    if only is None:
        return awaited.named(names, open_one) if names else None
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
        job = awaited.opened(ctx, job_id, tuple(FINISHED))
        if job is not None:
            with job:
                yield job


def deleted(ctx: Context, jobs: Iterable[JobDir], delete: Callable[[JobDir], Deleted]) -> Deleted:
    """Delete each of several jobs with `delete`; return the answer about all of them, with the error of each that could not
    be deleted. Errors: those of `delete` if none could be; job_not_found if there is none."""
    answer: Deleted | None = None
    told: list[EndedJob] = []
    failed: OutliveError | None = None
    for job in jobs:
        before = inspect.inspect_job(job)
        name = before.definition.name
        try:
            one = delete(job)
        except OutliveError as error:
            told.append(EndedJob(job_id=job.job_id, name=name, state=_state_now(ctx, job, before), error=error.message))
            failed = error
            continue
        told.append(EndedJob(job_id=job.job_id, name=name, state=one.job.state))
        if answer is None:
            answer = one
        else:
            answer.freed_bytes += one.freed_bytes
    if answer is None:
        raise failed or OutliveError("job_not_found", "no job of yours has ended", hint=ENDED_JOBS)
    answer.jobs = told
    return answer


def _state_now(ctx: Context, job: JobDir, before: Inspection) -> str:
    """Return the state of a job that could not be deleted; its last one if another call deleted it first."""
    try:
        return adoption.inspect_and_adopt(ctx, job).state.state
    except OutliveError:
        return before.state.state


def _tagged(ctx: Context, tags: Sequence[str], ids: Iterable[str]) -> Iterator[JobDir]:
    for job_id in ids:
        definition = lookup.definition(ctx.store, job_id)
        if definition is None or not all(tag_matches(tag, definition.tags) for tag in tags):
            continue
        if awaited.is_mine(ctx, definition):
            try:
                yield lookup.open_known(ctx.caller, job_id)
            except OutliveError:  # removed meanwhile
                continue
