"""List jobs."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from typing import Any

from outlive import limits, parts
from outlive.answers import ABSENT, sentences
from outlive.answers.listing import Counts, List, Listed
from outlive.core.ids import short_id
from outlive.core.labels import Origin, check_tag_pattern, tag_matches
from outlive.core.real_path import real_path
from outlive.core.record import Value
from outlive.core.records import LOCAL, Definition
from outlive.core.started import started_at
from outlive.core.units import moment, seconds_or
from outlive.errors import argument, invalid
from outlive.jobs import adoption, job_answer, lookup
from outlive.jobs.context import Context
from outlive.jobs.interaction import shown_output
from outlive.jobs.told import ownership
from outlive.part import Selected
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.system.waiting import checkpoint
from outlive.verbs import envelope
from outlive.verbs.spec import FULL

_CLOCK_S = 1  # by which the times of files may lag behind: the kernel takes them from its last tick
_NEWEST = 10  # jobs that ended and did not fail
_COUNT_S = 0.5  # the longest that jobs are counted which are not shown
_AT_ONCE_S = 0.002  # before another call may have its turn


def list_jobs(
    ctx: Context,
    *,
    limit: int = limits.LIST_JOBS,
    offset: int = 0,
    max_bytes: int | None = None,
    follow: bool = False,
    **wanted: Any,
) -> List:
    """Return the jobs, running ones first, then the newest; `wanted` is a Selection. Reads only as many jobs as fill
    the answer. A model that asks for nothing in particular gets what runs, what failed, and the newest others."""
    # What is no field of Selection is an argument of a part
    of_parts = {name: wanted.pop(name) for name in [*wanted] if name not in Selection.FIELDS}
    only = parts.selected(ctx, {**wanted, **of_parts})
    selection = Selection(**{**wanted, "tags": tuple(wanted.get("tags", ()))})
    chosen = _Filter(ctx, selection, only)
    asks_little = only is None and selection.changed(all=False) == _EVERY_JOB
    tally = _Tally() if ctx.face == "mcp" and asks_little and (limit, offset) == (limits.LIST_JOBS, 0) else None
    rows = _Rows(ctx, tally, limit, max_bytes)
    before, skipped = 0, 0
    until = time.monotonic() + _AT_ONCE_S
    for job_id in chosen.candidates():
        if time.monotonic() >= until:
            checkpoint()
        try:
            with lookup.open_known(ctx.caller, job_id) as job:
                inspection = adoption.inspect_and_adopt(ctx, job)
                if not chosen.takes(inspection, job):
                    continue
                if before < offset:
                    before += 1
                    continue
                if not rows.add(inspection, job):
                    break
        # Removed meanwhile, from a newer version, or whatever a job has made of its own files
        except Exception:  # noqa: BLE001
            skipped += 1
    if tally is not None:
        rows.entries = [entry for entry in rows.entries if not tally.is_old(entry.job_id)]
    entries = chosen.sorted(rows.entries)
    is_short = tally is not None and tally.all > len(entries)
    if tally is not None and is_short:
        hint = sentences(f"limit=0 lists all {tally.all}.", _of_pending(entries))
    elif rows.truncated:
        hint = f"There are more: offset={offset + len(entries)} shows them."
    else:
        hint = chosen.hint(is_empty=not entries and not before) or _of_pending(entries)
    return List(
        root=ctx.store.path,
        jobs=entries,
        truncated=rows.truncated or is_short,
        skipped=skipped,
        hint=hint,
        counts=tally.counts() if tally is not None and is_short else None,
    )


class _Rows:
    """The jobs of the answer: at most `limit` (0: any number), in at most `max_bytes`. With a tally the others are counted."""

    def __init__(self, ctx: Context, tally: _Tally | None, limit: int, max_bytes: int | None) -> None:
        self.entries: list[Listed] = []
        self.truncated = False
        self._ctx, self._tally, self._limit, self._room = ctx, tally, limit, max_bytes

    def add(self, inspection: Inspection, job: JobDir) -> bool:
        """Take the next job that was asked for; return whether one more is to be looked at."""
        is_left_out = self._tally is not None and self._tally.leaves_out(inspection, job)
        if not (is_left_out or self.truncated):
            self.truncated = bool(self._limit) and len(self.entries) == self._limit
            if not self.truncated:
                self._show(entry_of(self._ctx, inspection, job))
        return not self.truncated if self._tally is None else not self._tally.is_over

    def _show(self, entry: Listed) -> None:
        if self._room is not None:
            self._room -= _shown_bytes(self._ctx, entry)
            self.truncated = self._room < 0 and bool(self.entries)
        if not self.truncated:
            self.entries.append(entry)


class _Tally:
    """Counts the jobs of a list, and leaves out those that ended well, or on request, long before the newest."""

    def __init__(self) -> None:
        self.all = self._running = self._failed = self._killed = 0
        self._others: list[str] = []  # ids of those that ended, and did not fail
        self._until = time.monotonic() + _COUNT_S
        self.is_over = False  # it has taken too long to count on

    def leaves_out(self, inspection: Inspection, job: JobDir) -> bool:
        """Count a job, and return whether it is not worth a row."""
        state = inspection.state
        self.all += 1
        self._running += state.state == "running"
        is_killed = state.finished and state.reason == "kill"
        is_bad = state.finished and state.ended_badly and not is_killed
        self._killed += is_killed
        self._failed += is_bad
        self.is_over = time.monotonic() >= self._until
        if is_bad or not state.finished or living(inspection, job):
            return False
        self._others.append(inspection.definition.job_id)
        return self.is_old(self._others[-1])

    def is_old(self, job_id: str) -> bool:
        """Return whether a job ended and did not fail, as more than ten newer ones: those that may run are looked at
        first."""
        return job_id in self._others and sum(other > job_id for other in self._others) >= _NEWEST

    def counts(self) -> Counts:
        return Counts(
            all=self.all,
            running=self._running,
            failed=self._failed,
            killed=self._killed,
            complete=not self.is_over,
        )


def _shown_bytes(ctx: Context, entry: Listed) -> int:
    full = entry.to_dict()
    return len(json.dumps(full if ctx.detail == FULL else envelope.brief_entry(full, Listed)))


def _of_pending(entries: list[Listed]) -> str | None:
    """Return the hint about the jobs that wait for approval; None if no job does."""
    waiting = [one.short_id for one in entries if one.approval and one.approval["state"] == "pending"]
    if not waiting:
        return None
    many = "A job waits" if len(waiting) == 1 else f"{len(waiting)} jobs wait"
    return f"{many} for a person's approval: `outlive approve {waiting[0]}` or `outlive deny {waiting[0]}`."


class Selection(Value):
    """Which jobs a call asked for, by the names of its arguments."""

    state: str | None = None
    failed: bool = False
    since: str | None = None
    tags: tuple[str, ...] = ()
    host: str | None = None
    cwd: str | None = None
    owner: str | None = None
    all: bool = False


_EVERY_JOB = Selection()


class _Filter:
    """Decides which jobs were asked for, by default those of the CLI's directory, or the MCP session's own. It counts
    the others, for a caller that finds none of its own. Errors: invalid_argument, invalid_tag."""

    def __init__(self, ctx: Context, wanted: Selection, only: Selected | None) -> None:
        self._only = only
        self._is_chosen = bool(wanted.cwd or wanted.owner)  # the call named a directory or an owner
        if wanted.all and self._is_chosen:
            message = f"{argument('all')} goes without {argument('cwd')} and {argument('owner')}"
            raise invalid("all", message, hint="It shows the jobs of every directory and client.")
        self._since = None if wanted.since is None else moment(wanted.since, argument("since"))
        if wanted.host == "":
            raise invalid("host", f"{argument('host')} is the name of a host, or {LOCAL}")
        for pattern in wanted.tags:
            check_tag_pattern(pattern)
        if only is not None and not self._is_chosen:  # a part names the jobs: of every directory and client
            wanted = wanted.changed(all=True)
        self._ctx = ctx
        self._wanted = wanted
        here = ctx.cwd if ctx.face == "cli" and not wanted.owner else None
        place = wanted.cwd or here
        self._cwd = None if wanted.all or place is None else real_path(place)
        self._owner = None if wanted.all else wanted.owner
        self._is_mine = ctx.face == "mcp" and not (self._is_chosen or wanted.all)
        is_narrow = only is not None or wanted.changed(tags=(), host=None, cwd=None, owner=None) != _EVERY_JOB
        is_by_age = ctx.face == "mcp" and not is_narrow
        keep = ctx.config.get("exec", "cleanup_ms") if is_by_age else None
        self._oldest = None if keep is None else time.time() - keep / 1000
        is_bounded = self._is_mine or self._owner is not None or self._cwd is not None
        # Else the state and the tags of other callers' jobs decide whether they are counted
        self._origin_decides = is_bounded and wanted.changed(cwd=None, owner=None, all=False) == _EVERY_JOB
        self._places: dict[str, bool] = {}
        self._running = self._ended = self._older = 0
        self._bad = 0  # of the caller's: did not end well, and were not asked for

    def candidates(self) -> Iterator[str]:
        """Yield ids in the order of the answer, of those that a part names, if one does."""
        only = None if self._only is None else self._only.job_ids
        return self._possible() if only is None else (one for one in self._possible() if one in only)

    def _possible(self) -> Iterator[str]:
        """Yield ids in the order of the answer: jobs that may run, then the others, newest first."""
        known = set()
        for job_id in lookup.live_ids(self._ctx.caller):
            known.add(job_id)
            yield job_id
        running = self._wanted.state == "running"
        for job_id in lookup.left_ids(self._ctx.caller) if running else lookup.job_ids(self._ctx.caller):
            if job_id in known:
                continue
            if running:
                yield job_id
            elif self._is_out(job_id):
                checkpoint()
            elif self._is_elsewhere(job_id):
                self._ended += 1
                checkpoint()
            else:
                yield job_id

    def _is_out(self, job_id: str) -> bool:
        """Return whether a job that does not run is not asked for, and its outcome is enough to know
        that. The directory of a job changed when its outcome was written."""
        wanted, since = self._wanted, self._since
        try:
            if since:
                changed = os.stat(job_id, dir_fd=self._ctx.store.fd, follow_symlinks=False).st_mtime
                if changed < since - _CLOCK_S:
                    return True
        except OSError:  # removed meanwhile
            return True
        outcome = lookup.outcome(self._ctx.caller, job_id) if wanted.failed or wanted.state else None
        if outcome is None:
            return False
        fits = wanted.state in (None, outcome.state) and (outcome.ended_badly or not wanted.failed)
        is_counted = wanted.state == "failed" and outcome.ended_badly  # for the hint
        return not (fits or is_counted)

    def _is_elsewhere(self, job_id: str) -> bool:
        """Return whether a job that does not run is of another owner or directory, and nothing else
        has to be read to know that."""
        origin = lookup.origin(self._ctx.caller, job_id) if self._origin_decides else None
        return origin is not None and not self._is_from(origin)

    def takes(self, inspection: Inspection, job: JobDir) -> bool:
        """Return whether a job was asked for."""
        wanted, state = self._wanted, inspection.state
        # A job whose owner cannot be read is better shown than hidden
        is_damaged = inspection.damage is not None
        fits = wanted.state in (None, state.state) or (wanted.state == "running" and bool(living(inspection, job)))
        if not fits or (wanted.failed and not state.ended_badly):
            is_bad = wanted.state == "failed" and state.ended_badly and self._fits_besides(inspection)
            self._bad += is_bad and (is_damaged or self._is_from(inspection.definition))
            return False
        if not self._fits_besides(inspection):
            return False
        if not is_damaged and not self._is_from(inspection.definition):
            self._running += state.state == "running"
            self._ended += state.state != "running"
            return False
        ended = state.finished_at if state.finished and not is_damaged else None
        if ended and self._oldest is not None and seconds_or(ended, self._oldest) < self._oldest:
            self._older += 1
            return False
        return True

    def _fits_besides(self, inspection: Inspection) -> bool:
        """Return whether a job is of the host and the time, and has the tags, that were asked for."""
        definition, wanted = inspection.definition, self._wanted
        if wanted.host is not None and (definition.host or LOCAL) != wanted.host:
            return False
        if self._since is not None and not _is_since(inspection, self._since):
            return False
        return inspection.damage is not None or all(tag_matches(pattern, definition.tags) for pattern in wanted.tags)

    def _is_from(self, job: Definition | Origin) -> bool:
        """Return whether a job is of the owner and the directory that were asked for."""
        if self._owner is not None and job.owner != self._owner:
            return False
        if self._is_mine and not ownership.is_own(self._ctx, job):
            return False
        if self._cwd is not None and job.local_cwd not in self._places:
            self._places[job.local_cwd] = real_path(job.local_cwd) == self._cwd
        return self._cwd is None or self._places[job.local_cwd]

    def sorted(self, entries: list[Listed]) -> list[Listed]:
        """Return the entries in the order of the answer."""
        if self._only is not None and self._only.in_order:
            order = {job_id: at for at, job_id in enumerate(self._only.job_ids)}
            return sorted(entries, key=lambda entry: order.get(entry.job_id, len(order)))
        return sorted(entries, key=lambda entry: (entry.state == "running", entry.job_id), reverse=True)

    def hint(self, *, is_empty: bool) -> str | None:
        """Return what a caller should know of the jobs that were left out; None if nothing. `is_empty`: none is listed."""
        if self._only is not None:
            return self._only.hint or None
        missed = None
        if self._bad:
            call = "failed=true" if self._ctx.face == "mcp" else "--failed"
            missed = (
                f"failed is a job that never ran or was lost; {self._bad} more did not end well: {call} shows them."
            )
        return sentences(missed, self._none() if is_empty else None)

    def _none(self) -> str | None:
        """Return that no job fits, how many of the caller's there are, and which others."""
        wanted = self._wanted.changed(cwd=None, owner=None, all=False)
        live, ended, is_all = self._every_own() if wanted != _EVERY_JOB else (0, 0, True)
        if not live + ended:
            return self._others()
        of = " of yours" if self._is_mine else " here" if self._cwd is not None and not self._is_chosen else ""
        what = "fits"
        if wanted.changed(state=None) == _EVERY_JOB:
            what = "is running" if wanted.state == "running" else f"has the state {wanted.state}"
        counts = {"have ended" if ended > 1 else "has ended": ended, "not" if ended else "run or wait": live}
        said = ", ".join(f"{count:,} {state}" for state, count in counts.items() if count)
        return sentences(f"No job{of} {what}; {'' if is_all else 'at least '}{said}.", self._others())

    def _every_own(self) -> tuple[int, int, bool]:
        """Return how many jobs of the owner and directory that were asked for may run, and how many have ended; and
        whether all were counted."""
        live = ended = 0
        caller, until = self._ctx.caller, time.monotonic() + _COUNT_S
        # One that has just ended is marked as live until its end is synced
        known = {job_id for job_id in lookup.live_ids(caller) if lookup.outcome(caller, job_id) is None}
        for job_id in lookup.job_ids(caller):
            checkpoint()
            if time.monotonic() >= until:
                return live, ended, False
            origin = lookup.origin(caller, job_id)
            if origin is not None and self._is_from(origin):
                live, ended = live + (job_id in known), ended + (job_id not in known)
        return live, ended, True

    def _others(self) -> str | None:
        ended = "that did not end well" if self._wanted.failed else "not running"
        counts = {"running": self._running, ended: self._ended}
        others = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
        place = "elsewhere" if self._is_chosen or self._ctx.face == "cli" else "in other sessions"
        parts = [f"{others} {place}"] if others else []
        parts += [f"{self._older} that ended long ago"] if self._older else []
        if not parts:
            return None
        none, call = ("None of yours", "all=true") if self._ctx.face == "mcp" else ("None here", "--all")
        none = "None such" if self._is_chosen else none
        return f"{none}{' is recent' if self._older else ''}; {', '.join(parts)}: {call} shows them."


def _is_since(inspection: Inspection, since: float) -> bool:
    """Return whether a job runs, or ended or was made since then."""
    state = inspection.state
    if state.state == "running":
        return True
    stamp = state.finished_at or state.updated_at or inspection.definition.created_at
    return seconds_or(stamp, since) >= since


def living(inspection: Inspection, job: JobDir) -> int | None:
    """Return how many processes a job left that has ended; None if it left none, or that is not known."""
    is_known = inspection.state.finished and inspection.supervised
    return (job_answer.living(inspection, job) if is_known else None) or None


def entry_of(ctx: Context, inspection: Inspection, job: JobDir) -> Listed:
    """Return what a list says of a job."""
    definition, state = inspection.definition, inspection.state
    try:
        with Output(job) as output:
            asks = job_answer.waiting(inspection, output)
            waits = asks.waiting_for_input
            asked = (asks.prompt or "")[: limits.LAST_LINE_CHARS]
            last = asked or shown_output.telling_line(ctx.caller, inspection, output)
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
        ended=job_answer.ending(inspection, job),
        created_at=definition.created_at,
        finished_at=state.finished_at,
        updated_at=state.updated_at or None,
        waiting_for_input=waits,
        last_line=last,
        message=(state.message or None) if state.ended_badly else None,
        descendants=living(inspection, job),
        others=(_is_of_others(ctx, definition) or None) if ctx.detail != FULL else None,
        stopped=job_answer.stopped(inspection),
        elsewhere=job_answer.elsewhere(inspection, job),
        of_parts=job_answer.in_list(inspection),
        approval=job_answer.approval_of(inspection, job) or None,
        usage=used or None,
        started_at=started_at(state, definition.created_at) or ABSENT,
        damage=inspection.damage or None,
    )


def _is_of_others(ctx: Context, definition: Definition) -> bool:
    """Return whether a list that asks for nothing in particular leaves this job out."""
    if ctx.face == "mcp" or not ownership.is_own(ctx, definition):
        return not ownership.is_own(ctx, definition)
    return ctx.cwd is None or real_path(definition.cwd) != real_path(ctx.cwd)
