"""List jobs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

from outlive import fastjson, limits
from outlive.answers import ABSENT, sentences
from outlive.answers.job import HowEnded
from outlive.answers.listing import List, Listed
from outlive.core.ids import short_id
from outlive.core.labels import Origin, check_tag_pattern, tag_matches
from outlive.core.records import LOCAL, Definition
from outlive.core.units import moment, seconds_of
from outlive.errors import argument, invalid
from outlive.jobs import adoption, job_answer, lookup, ownership
from outlive.jobs.context import Context
from outlive.jobs.interaction import shown_output
from outlive.store.inspection.inspect import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.system.waiting import checkpoint
from outlive.verbs import brief
from outlive.verbs.spec import FULL

_AT_ONCE_S = 0.002  # before another call may have its turn


def list_jobs(
    ctx: Context,
    *,
    state: str | None = None,
    limit: int = limits.LIST_JOBS,
    offset: int = 0,
    max_bytes: int | None = None,
    tags: list[str] | tuple[str, ...] = (),
    cwd: str | None = None,
    owner: str | None = None,
    host: str | None = None,
    failed: bool = False,
    since: str | None = None,
    all: bool = False,  # noqa: A002 - the flag's name
    follow: bool = False,
) -> List:
    """Return the jobs, running ones first, then the newest.

    Reads only as many jobs as fill the answer.
    """
    if all and (cwd or owner):
        message = f"{argument('all')} goes without {argument('cwd')} and {argument('owner')}"
        raise invalid("all", message, hint="It shows the jobs of every directory and client.")
    oldest = None if since is None else moment(since, argument("since"))
    wanted = _Filter(ctx, _Wanted(state, list(tags), host, failed, oldest), cwd, owner, all)
    entries: list[Listed] = []
    room, before, skipped, truncated = max_bytes, 0, 0, False
    elsewhere, until = _Elsewhere(), time.monotonic() + _AT_ONCE_S
    for job_id in _candidates(ctx, wanted, elsewhere):
        if time.monotonic() >= until:
            checkpoint()
        if job_id is None:
            continue
        try:
            with lookup.open_known(ctx, job_id) as job:
                inspection = adoption.inspect_and_adopt(ctx, job)
                if not wanted.takes(inspection, job, elsewhere):
                    continue
                if before < offset:
                    before += 1
                    continue
                truncated = bool(limit) and len(entries) == limit
                entry = None if truncated else entry_of(ctx, inspection, job)
                if entry is not None and room is not None:
                    room -= _shown_bytes(ctx, entry)
                    truncated = room < 0 and bool(entries)
                if entry is None or truncated:
                    break
                entries.append(entry)
        # Removed meanwhile, from a newer version, or whatever a job has made of its own files
        except Exception:  # noqa: BLE001
            skipped += 1
    entries.sort(key=lambda entry: (entry.state == "running", entry.job_id), reverse=True)
    if truncated:
        hint: str | None = f"There are more: offset={offset + len(entries)} shows them."
    else:
        hint = elsewhere.hint(ctx, wanted, is_empty=not entries and not before) or _of_pending(entries)
    return List(root=ctx.store.path, jobs=entries, truncated=truncated, skipped=skipped, hint=hint)


def _shown_bytes(ctx: Context, entry: Listed) -> int:
    """Return how many bytes of the answer an entry takes."""
    full = entry.to_dict()
    return len(fastjson.dumps(full if ctx.detail == FULL else brief.of_entry(full, Listed)))


def _of_pending(entries: list[Listed]) -> str | None:
    """Return the hint about the jobs that wait for approval; None if no job does."""
    waiting = [one.short_id for one in entries if one.approval and one.approval["state"] == "pending"]
    if not waiting:
        return None
    many = "A job waits" if len(waiting) == 1 else f"{len(waiting)} jobs wait"
    return f"{many} for a person's approval: `outlive approve {waiting[0]}` or `outlive deny {waiting[0]}`."


def _candidates(ctx: Context, wanted: _Filter, elsewhere: _Elsewhere) -> Iterator[str | None]:
    """Yield ids in the order of the answer: jobs that may run, then the others, newest first. None
    stands for a job of another owner or directory that was counted."""
    known = set()
    for job_id in lookup.live_ids(ctx):
        known.add(job_id)
        yield job_id
    if wanted.runs:
        yield from (job_id for job_id in lookup.left_ids(ctx) if job_id not in known)
        return
    for job_id in lookup.job_ids(ctx):
        if job_id in known:
            continue
        if wanted.is_out(ctx, job_id):
            checkpoint()
        elif wanted.leaves_out(ctx, job_id):
            elsewhere.ended += 1
            checkpoint()
        else:
            yield job_id


class _Elsewhere:
    """Counts the jobs that were not asked for, for a caller that finds none of its own."""

    def __init__(self) -> None:
        self.running = self.ended = self.older = 0
        self.bad = 0  # of the caller's: did not end well, and were not asked for

    def count(self, inspection: Inspection) -> None:
        if inspection.state.state == "running":
            self.running += 1
        else:
            self.ended += 1

    def hint(self, ctx: Context, wanted: _Filter, *, is_empty: bool) -> str | None:
        """Return what a caller should know of them; None if nothing. `is_empty`: none is listed."""
        missed = None
        if self.bad:
            call = "failed=true" if ctx.face == "mcp" else "--failed"
            missed = f"failed is a job that never ran or was lost; {self.bad} more did not end well: {call} shows them."
        return sentences(missed, self._others(ctx, wanted) if is_empty else None)

    def _others(self, ctx: Context, wanted: _Filter) -> str | None:
        counts = {"running": self.running, wanted.ended: self.ended}
        others = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
        place = "elsewhere" if wanted.is_chosen or ctx.face == "cli" else "in other sessions"
        parts = [f"{others} {place}"] if others else []
        parts += [f"{self.older} that ended long ago"] if self.older else []
        if not parts:
            return None
        none, call = ("None of yours", "all=true") if ctx.face == "mcp" else ("None here", "--all")
        none = "None such" if wanted.is_chosen else none
        return f"{none}{' is recent' if self.older else ''}; {', '.join(parts)}: {call} shows them."


class _Wanted:
    """What a call asked for, besides whose jobs. `since`: Unix seconds. `is_all`: nothing."""

    __slots__ = ("failed", "host", "is_all", "since", "state", "tags")

    def __init__(self, state: str | None, tags: list[str], host: str | None, failed: bool, since: float | None) -> None:
        self.state = state
        self.tags = tags
        self.host = host
        self.failed = failed
        self.since = since
        self.is_all = state is None and host is None and since is None and not (tags or failed)


class _Filter:
    """Decides which jobs were asked for; by default those of the CLI's directory, or the MCP
    session's own."""

    def __init__(self, ctx: Context, wanted: _Wanted, cwd: str | None, owner: str | None, everything: bool) -> None:
        if wanted.host == "":
            raise invalid("host", f"{argument('host')} is the name of a host, or {LOCAL}")
        self._ctx = ctx
        self._wanted = wanted
        self.is_chosen = bool(cwd or owner)  # the call named a directory or an owner
        self.ended = "that did not end well" if wanted.failed else "not running"
        self._is_tagged = _tag_filter(wanted.tags)
        here = ctx.cwd if ctx.face == "cli" and not owner else None
        place = cwd or here
        self._cwd = None if everything or place is None else os.path.realpath(place)
        self._owner = None if everything else owner
        self._is_mine = ctx.face == "mcp" and not (cwd or owner or everything)
        is_by_age = ctx.face == "mcp" and not everything and not (wanted.state or wanted.failed or wanted.since)
        keep = ctx.config.get("exec", "cleanup_ms") if is_by_age else None
        self._oldest = None if keep is None else time.time() - keep / 1000
        is_bounded = self._is_mine or self._owner is not None or self._cwd is not None
        # Else the state and the tags of other callers' jobs decide whether they are counted
        self._origin_decides = is_bounded and wanted.is_all
        self._places: dict[str, bool] = {}

    def leaves_out(self, ctx: Context, job_id: str) -> bool:
        """Return whether a job that does not run is of another owner or directory, and nothing else
        has to be read to know that."""
        origin = lookup.origin(ctx, job_id) if self._origin_decides else None
        return origin is not None and not self._is_from(origin)

    @property
    def runs(self) -> bool:
        """Whether only jobs that run were asked for."""
        return self._wanted.state == "running"

    def is_out(self, ctx: Context, job_id: str) -> bool:
        """Return whether a job that does not run is not asked for, and its outcome is enough to know
        that. The directory of a job changed when its outcome was written."""
        wanted = self._wanted
        try:
            if wanted.since and os.stat(job_id, dir_fd=ctx.store.fd, follow_symlinks=False).st_mtime < wanted.since:
                return True
        except OSError:  # removed meanwhile
            return True
        outcome = lookup.outcome(ctx, job_id) if wanted.failed or wanted.state else None
        if outcome is None or (outcome.ended_badly and (wanted.failed or wanted.state == "failed")):
            return False
        return wanted.failed or outcome.state != wanted.state

    def takes(self, inspection: Inspection, job: JobDir, elsewhere: _Elsewhere) -> bool:
        """Return whether a job was asked for; `elsewhere` counts those that were not."""
        if not self.fits(inspection, job):
            elsewhere.bad += self.is_missed(inspection)
        elif not self.is_of_caller(inspection):
            elsewhere.count(inspection)
        elif not self.is_recent(inspection):
            elsewhere.older += 1
        else:
            return True
        return False

    def fits(self, inspection: Inspection, job: JobDir) -> bool:
        """Return whether a job has the state, the tags and the end that were asked for."""
        wanted, state = self._wanted, inspection.state
        if wanted.state is not None and state.state != wanted.state and not (self.runs and living(inspection, job)):
            return False
        if wanted.failed and not state.ended_badly:
            return False
        return self._fits_besides(inspection)

    def is_missed(self, inspection: Inspection) -> bool:
        """Return whether a job that does not fit is one of the caller's that did not end well."""
        state = inspection.state
        is_bad = self._wanted.state == "failed" and state.state != "failed" and state.ended_badly
        return is_bad and self._fits_besides(inspection) and self.is_of_caller(inspection)

    def _fits_besides(self, inspection: Inspection) -> bool:
        """Return whether a job is of the host and the time, and has the tags, that were asked for."""
        wanted = self._wanted
        if wanted.host is not None and (inspection.definition.host or LOCAL) != wanted.host:
            return False
        if wanted.since is not None and not _is_since(inspection, wanted.since):
            return False
        return inspection.damage is not None or self._is_tagged is None or self._is_tagged(inspection.definition.tags)

    def is_of_caller(self, inspection: Inspection) -> bool:
        """Return whether a job is of the owner and the directory that were asked for."""
        if inspection.damage is not None:  # its owner cannot be read: better shown than hidden
            return True
        return self._is_from(inspection.definition)

    def _is_from(self, job: Definition | Origin) -> bool:
        if self._owner is not None and job.owner != self._owner:
            return False
        if self._is_mine and not ownership.is_own(self._ctx, job):
            return False
        if self._cwd is not None and job.cwd not in self._places:
            self._places[job.cwd] = os.path.realpath(job.cwd) == self._cwd
        return self._cwd is None or self._places[job.cwd]

    def is_recent(self, inspection: Inspection) -> bool:
        state = inspection.state
        if inspection.damage is not None or self._oldest is None or not state.finished or not state.finished_at:
            return True
        return bool(seconds_of(state.finished_at) >= self._oldest)


def _is_since(inspection: Inspection, since: float) -> bool:
    """Return whether a job runs, or ended or was made since then."""
    state = inspection.state
    if state.state == "running":
        return True
    stamp = state.finished_at or state.updated_at or inspection.definition.created_at
    return not stamp or seconds_of(stamp) >= since


def living(inspection: Inspection, job: JobDir) -> int | None:
    """Return how many processes a job left that has ended; None if it left none, or that is not known."""
    is_known = inspection.state.finished and inspection.supervised
    return (job_answer.living(inspection, job) if is_known else None) or None


def _tag_filter(patterns: list[str]) -> Callable[[list[str]], bool] | None:
    """Return what tells whether a job's tags match all patterns; None for no patterns.

    Errors: invalid_tag.
    """
    if not patterns:
        return None
    for pattern in patterns:
        check_tag_pattern(pattern)
    return lambda tags: all(tag_matches(pattern, tags) for pattern in patterns)


def entry_of(ctx: Context, inspection: Inspection, job: JobDir) -> Listed:
    """Return what a list says of a job."""
    definition, state = inspection.definition, inspection.state
    try:
        with Output(job) as output:
            last = shown_output.telling_line(ctx, inspection, output)
            waits = job_answer.waiting(inspection, output).waiting_for_input
            used = job_answer.usage(inspection, job, output) if ctx.detail == FULL else None
    except OSError:
        last, waits, used = None, False, None
    return Listed(
        job_id=job.job_id,
        short_id=short_id(job.job_id),
        state=state.state,
        name=definition.name,
        command=definition.command,
        command_bytes=definition.command_bytes,
        cwd=definition.cwd or None,
        owner=definition.owner,
        session=ownership.shown(definition.session),
        tags=definition.tags,
        timeout_ms=definition.timeout_ms,
        ended=HowEnded(
            exit_code=state.exit_code,
            signal=state.signal,
            reason=state.reason,
            stages=job_answer.stages_of(inspection, job),
        ),
        created_at=definition.created_at,
        finished_at=state.finished_at,
        updated_at=state.updated_at or None,
        waiting_for_input=waits,
        last_line=last,
        message=(state.message or None) if state.ended_badly else None,
        descendants=living(inspection, job),
        others=(_is_of_others(ctx, definition) or None) if ctx.detail != FULL else None,
        stopped=job_answer.stopped(inspection),
        place=job_answer.place(inspection, job),
        approval=job_answer.approval_of(inspection, job) or None,
        usage=used or None,
        started_at=ABSENT if state.started_at is None else state.started_at,
        damage=inspection.damage or None,
    )


def _is_of_others(ctx: Context, definition: Definition) -> bool:
    """Return whether a list that asks for nothing in particular leaves this job out."""
    if ctx.face == "mcp" or not ownership.is_own(ctx, definition):
        return not ownership.is_own(ctx, definition)
    return ctx.cwd is None or os.path.realpath(definition.cwd) != os.path.realpath(ctx.cwd)
