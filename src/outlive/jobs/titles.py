"""Find the job that has a title, for a text that is no id and no part of one."""

from __future__ import annotations

import os

from outlive import fastjson, limits
from outlive.core.ids import short_id
from outlive.errors import OutliveError, argument, invalid
from outlive.jobs import lookup
from outlive.store import atomic_file
from outlive.store.job_dir import META

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.core.records import Definition
    from outlive.jobs.context import Context
    from outlive.store.job_dir import JobDir


def named(ctx: Context, text: str) -> JobDir | None:
    """Open the newest job with this title, and have the answer say which it is; None if there is
    none among the newest jobs.

    Over MCP only jobs of the caller's own name count: another client may call its jobs alike.
    """
    title = " ".join(text.split())
    if not title or len(title) > limits.MAX_TITLE_CHARS:
        return None
    if title in ctx.titles:
        return lookup.open_known(ctx, ctx.titles[title])
    job = _newest(ctx, title)
    if job is not None:
        ctx.titles[title] = job.job_id
    return job


def refuse(ctx: Context, text: str, verb: str, why: str) -> None:
    """Raise invalid_argument if a job has this title, for a verb that takes ids alone. The error
    names the job."""
    title = " ".join(text.split())
    job = _newest(ctx, title) if title and len(title) <= limits.MAX_TITLE_CHARS else None
    if job is None:
        return
    job.close()
    raise invalid(
        "job",
        f"{verb} takes an id, and {title!r} is a title: {why}",
        hint=f"The newest job with this title is {short_id(job.job_id)}; if you mean it, pass that as {argument('job')}.",
        candidates=[job.job_id],
    )


def _newest(ctx: Context, title: str) -> JobDir | None:
    # Both ways of writing it: a reader of other versions may escape what is not ASCII
    parts = {
        fastjson.dumps(title, ensure_ascii=escaped).encode("utf-8", "surrogateescape") for escaped in (True, False)
    }
    for count, job_id in enumerate(lookup.job_ids(ctx)):
        if count == limits.TITLED_JOBS:
            return None
        if not _may_have(ctx, job_id, parts):
            continue
        try:
            job = lookup.open_known(ctx, job_id)
        except (OSError, OutliveError):  # removed meanwhile
            continue
        if _is_wanted(ctx, job, title):
            return job
        job.close()
    return None


def _may_have(ctx: Context, job_id: str, parts: set[bytes]) -> bool:
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


def _is_wanted(ctx: Context, job: JobDir, title: str) -> bool:
    try:
        definition: Definition = job.read_meta()
    except (OSError, OutliveError):
        return False
    return definition.title == title and (ctx.face == "cli" or definition.owner == ctx.owner)
