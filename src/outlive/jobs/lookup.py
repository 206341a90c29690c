"""Find and enumerate jobs.

Every other module goes through here, so the wall between callers holds.
"""

from __future__ import annotations

import os
from sys import intern

from outlive import fastjson, limits
from outlive.core.ids import is_id, short_id
from outlive.errors import OutliveError, argument, from_os, invalid
from outlive.store import atomic_file
from outlive.store.job_dir import META, JobDir
from outlive.store.root import not_found

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from outlive.core.records import Definition
    from outlive.jobs.context import Context


_MOST_ORIGINS = 50_000  # jobs whose origin a server remembers, 15 MB


def open_job(ctx: Context, text: str) -> JobDir:
    """Open the job that `text` names: by its id, by a part of that, or by its title.

    Errors: job_not_found, ambiguous_job_id; neither tells of jobs behind the wall.
    """
    try:
        return open_by_id(ctx, text)
    except OutliveError as error:
        if error.code != "job_not_found" or is_id(text.strip().upper()):
            raise
        job = _titled(ctx, text)
        if job is None:
            raise
        return job


def open_by_id(ctx: Context, text: str) -> JobDir:
    """Open the job that has this id, or whose id alone begins or ends like this.

    Errors: as `open_job`.
    """
    try:
        job_id = ctx.store.find(text, None if ctx.wall is None else lambda found: _exists(ctx, found))
        return JobDir.open(ctx.store, job_id)
    except OutliveError as error:
        if error.code != "job_not_found":
            raise
        from outlive.jobs.diagnosis import deleted  # late: for a mistake alone

        raise deleted.explained(ctx, text, error) from error


def open_exactly(ctx: Context, text: str, verb: str, why: str) -> JobDir:
    """Open a job for a verb that takes no titles, because of `why`. Errors: as `open_job`, and
    invalid_argument for a title; it names the job."""
    try:
        return open_by_id(ctx, text)
    except OutliveError as error:
        if error.code == "job_not_found" and not is_id(text.strip().upper()):
            _refuse_title(ctx, text, verb, why)
        raise


def open_known(ctx: Context, job_id: str) -> JobDir:
    """Open the job with this whole id. Errors: job_not_found, io_error."""
    job = JobDir.open(ctx.store, job_id)
    if not _is_inside(ctx, job):
        job.close()
        raise not_found(job_id)
    return job


def job_ids(ctx: Context) -> Iterator[str]:
    """Yield the ids of all jobs that exist for this caller, newest first."""
    return _inside(ctx, ctx.store.newest_ids())


def live_ids(ctx: Context) -> Iterator[str]:
    """Yield the ids of the jobs that may still run and exist for this caller."""
    return _inside(ctx, ctx.store.live_ids())


def _inside(ctx: Context, job_ids: Iterable[str]) -> Iterator[str]:
    return iter(job_ids) if ctx.wall is None else (job_id for job_id in job_ids if _exists(ctx, job_id))


def _exists(ctx: Context, job_id: str) -> bool:
    """Return whether the job exists for this caller, who is behind a wall."""
    found = origin(ctx, job_id)
    return found is not None and found[0] == ctx.wall


def origin(ctx: Context, job_id: str) -> tuple[str | None, str, str] | None:
    """Return the scope, the owner and the directory of a job; None if its definition cannot be
    read. They do not change, so a server reads the definition of each job once."""
    known = ctx.store.origins
    found = known.get(job_id)
    if found is None:
        try:
            with JobDir.open(ctx.store, job_id) as job:
                definition = job.read_meta()
        except (OSError, OutliveError):
            return None
        scope = definition.scope
        found = (scope and intern(scope), intern(definition.owner), intern(definition.cwd))
        if definition.host is not None:  # its directory is known for certain when it runs
            return found
        if len(known) >= _MOST_ORIGINS:
            known.clear()
        known[job_id] = found
    return found


def _is_inside(ctx: Context, job: JobDir) -> bool:
    """Return whether the job exists for this caller.

    A damaged definition tells no scope: it exists for callers without a wall.
    """
    if ctx.wall is None:
        return True
    try:
        return bool(job.read_meta().scope == ctx.wall)
    except (OSError, OutliveError):
        return False


def _titled(ctx: Context, text: str) -> JobDir | None:
    """Open the newest job with this title, and have the answer say which it is; None if there is
    none among the newest jobs.

    Over MCP only jobs of the caller's own name count: another client may call its jobs alike.
    """
    title = " ".join(text.split())
    if not title or len(title) > limits.MAX_TITLE_CHARS:
        return None
    if title in ctx.titles:
        return open_known(ctx, ctx.titles[title])
    job = _newest_titled(ctx, title)
    if job is not None:
        ctx.titles[title] = job.job_id
    return job


def _refuse_title(ctx: Context, text: str, verb: str, why: str) -> None:
    """Raise invalid_argument if a job has this title, for a verb that takes ids alone. The error
    names the job."""
    title = " ".join(text.split())
    job = _newest_titled(ctx, title) if title and len(title) <= limits.MAX_TITLE_CHARS else None
    if job is None:
        return
    job.close()
    raise invalid(
        "job",
        f"{verb} takes an id, and {title!r} is a title: {why}",
        hint=f"The newest job with this title is {short_id(job.job_id)}; if you mean it, pass that as {argument('job')}.",
        candidates=[job.job_id],
    )


def _newest_titled(ctx: Context, title: str) -> JobDir | None:
    # Both ways of writing it: a reader of other versions may escape what is not ASCII
    parts = {
        fastjson.dumps(title, ensure_ascii=escaped).encode("utf-8", "surrogateescape") for escaped in (True, False)
    }
    for count, job_id in enumerate(job_ids(ctx)):
        if count == limits.TITLED_JOBS:
            return None
        if not _may_have_title(ctx, job_id, parts):
            continue
        try:
            job = open_known(ctx, job_id)
        except (OSError, OutliveError):  # removed meanwhile
            continue
        if _has_title(ctx, job, title):
            return job
        job.close()
    return None


def _may_have_title(ctx: Context, job_id: str, parts: set[bytes]) -> bool:
    """Return whether the definition of a job holds one of these texts. Reading it as a record takes
    eight times as long."""
    try:
        fd = atomic_file.open_regular(ctx.store.fd, f"{job_id}/{META}")
    except OSError:
        return False
    try:
        data = os.read(fd, limits.RECORD_BYTES)
    except OSError:
        return False
    finally:
        os.close(fd)
    return any(part in data for part in parts)


def _has_title(ctx: Context, job: JobDir, title: str) -> bool:
    try:
        definition: Definition = job.read_meta()
    except (OSError, OutliveError):
        return False
    return definition.title == title and (ctx.face == "cli" or definition.owner == ctx.owner)


def change_meta(job: JobDir, change: Callable[[Definition], Definition]) -> Definition:
    """Change a job's definition as `JobDir.change_meta` does. Errors: io_error."""
    try:
        return job.change_meta(change)
    except atomic_file.Damaged as error:
        raise OutliveError("io_error", f"the definition of job {job.job_id} cannot be read: {error.why}") from error
    except OSError as error:
        raise from_os(f"changing the definition of job {job.job_id}", error, on="store") from error
