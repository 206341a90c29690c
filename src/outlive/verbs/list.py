"""List jobs."""

from __future__ import annotations

import os
import time

from outlive import limits
from outlive.core.ids import short_id
from outlive.core.records import LOCAL, READ, STATES
from outlive.core.units import seconds_of
from outlive.errors import argument, invalid
from outlive.jobs import adoption, job_answer, lookup
from outlive.render import window
from outlive.store.output.merged import Output
from outlive.verbs.spec import BOOL, BUDGET, FULL, INT, PATH, STR, STRS, Arg, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir

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
    all: bool = False,  # noqa: A002 - the flag's name
    follow: bool = False,
) -> Waiting[dict[str, Any]]:
    """Return the jobs, running ones first, then the newest.

    Reads only as many jobs as fill the answer.
    """
    if all and (cwd or owner):
        message = f"{argument('all')} goes without {argument('cwd')} and {argument('owner')}"
        raise invalid("all", message, hint="It shows the jobs of every directory and client.")
    wanted = _Filter(ctx, state, list(tags), cwd, owner, all, host)
    entries: list[dict[str, Any]] = []
    room, before, skipped, truncated = max_bytes, 0, 0, False
    elsewhere, until = _Elsewhere(), time.monotonic() + _AT_ONCE_S
    for job_id in _candidates(ctx, state, wanted, elsewhere):
        if time.monotonic() >= until:
            yield None
        if job_id is None:
            continue
        try:
            with lookup.open_known(ctx, job_id) as job:
                found = adoption.inspect_and_adopt(ctx, job)
                if not wanted.fits(found):
                    continue
                if not wanted.is_of_caller(found):
                    elsewhere.count(found)
                    continue
                if not wanted.is_recent(found):
                    elsewhere.older += 1
                    continue
                if before < offset:
                    before += 1
                    continue
                truncated = bool(limit) and len(entries) == limit
                entry = {} if truncated else entry_of(ctx, found, job)
                if room is not None and not truncated:
                    room -= _shown_bytes(ctx, entry)
                    truncated = room < 0 and bool(entries)
                if truncated:
                    break
                entries.append(entry)
        # Removed meanwhile, from a newer version, or whatever a job has made of its own files
        except Exception:  # noqa: BLE001
            skipped += 1
    entries.sort(key=lambda entry: (entry["state"] == "running", entry["job_id"]), reverse=True)
    answer = {"root": ctx.store.path, "jobs": entries, "truncated": truncated, "skipped": skipped}
    hint = (None if entries or before else elsewhere.hint(ctx, chosen=bool(cwd or owner))) or _of_pending(entries)
    hint = f"There are more: offset={offset + len(entries)} shows them." if truncated else hint
    return answer | ({"hint": hint} if hint else {})


def _shown_bytes(ctx: Context, entry: dict[str, Any]) -> int:
    """Return how many bytes of the answer an entry takes."""
    from outlive import fastjson
    from outlive.verbs import brief

    sized = entry if ctx.detail == FULL else brief.of_entry(entry, brief.LIST_ENTRY)
    return len(fastjson.dumps(sized))


def _of_pending(entries: list[dict[str, Any]]) -> str | None:
    """Return the hint about the jobs that wait for approval; None if no job does."""
    waiting = [one["short_id"] for one in entries if one.get("approval", {}).get("state") == "pending"]
    if not waiting:
        return None
    many = "A job waits" if len(waiting) == 1 else f"{len(waiting)} jobs wait"
    return f"{many} for a person's approval: `outlive approve {waiting[0]}` or `outlive deny {waiting[0]}`."


def _candidates(ctx: Context, state: str | None, wanted: _Filter, elsewhere: _Elsewhere) -> Iterator[str | None]:
    """Yield ids in the order of the answer: jobs that may run, then the others, newest first. None
    stands for a job of another owner or directory that was counted."""
    known = set()
    for job_id in lookup.live_ids(ctx):
        known.add(job_id)
        yield job_id
    for job_id in lookup.job_ids(ctx) if state != "running" else ():
        if job_id in known:
            continue
        if wanted.leaves_out(ctx, job_id):
            elsewhere.ended += 1
            yield None
        else:
            yield job_id


class _Elsewhere:
    """Counts the jobs that were not asked for, for a caller that finds none of its own."""

    def __init__(self) -> None:
        self.running = self.ended = self.older = 0

    def count(self, found: Inspection) -> None:
        if found.state.state == "running":
            self.running += 1
        else:
            self.ended += 1

    def hint(self, ctx: Context, *, chosen: bool) -> str | None:
        """Return the sentence about them; None if there is none. `chosen`: the call named a directory
        or an owner."""
        counts = {"running": self.running, "not running": self.ended}
        others = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
        place = "elsewhere" if chosen or ctx.face == "cli" else "in other sessions"
        parts = [f"{others} {place}"] if others else []
        parts += [f"{self.older} that ended long ago"] if self.older else []
        if not parts:
            return None
        none, call = ("None of yours", "all=true") if ctx.face == "mcp" else ("None here", "--all")
        none = "None such" if chosen else none
        return f"{none}{' is recent' if self.older else ''}; {', '.join(parts)}: {call} shows them."


class _Filter:
    """Decides which jobs were asked for; by default those of the CLI's directory, or the MCP
    client's own."""

    def __init__(
        self,
        ctx: Context,
        state: str | None,
        tags: list[str],
        cwd: str | None,
        owner: str | None,
        everything: bool,
        host: str | None = None,
    ) -> None:
        self._state = state
        if host == "":
            raise invalid("host", f"{argument('host')} is the name of a host, or {LOCAL}")
        self._host = host
        self._is_tagged = _tag_filter(tags)
        here = ctx.cwd if ctx.face == "cli" and not owner else None
        place = cwd or here
        self._cwd = None if everything or place is None else os.path.realpath(place)
        mine = ctx.owner if ctx.face == "mcp" and not cwd else None
        self._owner = None if everything else owner or mine
        keep = ctx.config.get("exec", "cleanup_ms") if ctx.face == "mcp" and not everything and not state else None
        self._oldest = None if keep is None else time.time() - keep / 1000
        is_bounded = self._owner is not None or self._cwd is not None
        # Else the state and the tags of other callers' jobs decide whether they are counted
        self._origin_decides = is_bounded and state is None and not tags and host is None
        self._places: dict[str, bool] = {}

    def leaves_out(self, ctx: Context, job_id: str) -> bool:
        """Return whether a job that does not run is of another owner or directory, and nothing else
        has to be read to know that."""
        origin = lookup.origin(ctx, job_id) if self._origin_decides else None
        return origin is not None and not self._is_from(*origin[1:])

    def fits(self, found: Inspection) -> bool:
        """Return whether a job has the state and the tags that were asked for."""
        if self._state is not None and found.state.state != self._state:
            return False
        if self._host is not None and (found.definition.host or LOCAL) != self._host:
            return False
        return found.damage is not None or self._is_tagged is None or self._is_tagged(found.definition.tags)

    def is_of_caller(self, found: Inspection) -> bool:
        """Return whether a job is of the owner and the directory that were asked for."""
        if found.damage is not None:  # its owner cannot be read: better shown than hidden
            return True
        return self._is_from(found.definition.owner, found.definition.cwd)

    def _is_from(self, owner: str, cwd: str) -> bool:
        if self._owner is not None and owner != self._owner:
            return False
        if self._cwd is not None and cwd not in self._places:
            self._places[cwd] = os.path.realpath(cwd) == self._cwd
        return self._cwd is None or self._places[cwd]

    def is_recent(self, found: Inspection) -> bool:
        state = found.state
        if found.damage is not None or self._oldest is None or not state.finished or not state.finished_at:
            return True
        return bool(seconds_of(state.finished_at) >= self._oldest)


def _tag_filter(patterns: list[str]) -> Callable[[list[str]], bool] | None:
    """Return what tells whether a job's tags match all patterns; None for no patterns.

    Errors: invalid_tag.
    """
    if not patterns:
        return None
    # Late: most lists name no tag
    from outlive.core.labels import check_tag_pattern, tag_matches

    for pattern in patterns:
        check_tag_pattern(pattern)
    return lambda tags: all(tag_matches(pattern, tags) for pattern in patterns)


def entry_of(ctx: Context, found: Inspection, job: JobDir) -> dict[str, Any]:
    """Return what a list says of a job."""
    definition, state = found.definition, found.state
    try:
        with Output(job) as output:
            last = window.last_line(output)
            waits = bool(job_answer.waiting(found, output)["waiting_for_input"])
            used = job_answer.usage(found, job, output) if ctx.detail == FULL else None
    except OSError:
        last, waits, used = None, False, None
    entry = {
        "job_id": job.job_id,
        "short_id": short_id(job.job_id),
        "state": state.state,
        "name": definition.name,
        "command": definition.command,
        "cwd": definition.cwd or None,
        "owner": definition.owner,
        "tags": definition.tags,
        "timeout_ms": definition.timeout_ms,
        "exit_code": state.exit_code,
        "signal": state.signal,
        "reason": state.reason,
        "created_at": definition.created_at,
        "finished_at": state.finished_at,
        "updated_at": state.updated_at or None,
        "waiting_for_input": waits,
        "last_line": last,
        **job_answer.unresponsive(found),
        **job_answer.place(found, job),
    }
    approval = job_answer.approval_of(found, job)
    entry |= {"approval": approval} if approval else {}
    entry |= {"usage": used} if used else {}
    if state.started_at is not None:
        entry["started_at"] = state.started_at
    return entry | ({"damage": found.damage} if found.damage else {})


VERB = Verb(
    "list",
    "List jobs: running ones first, then the newest.",
    list_jobs,
    args=(
        Arg("state", STR, "Only jobs in this state.", choices=STATES, metavar="STATE", mcp_help=""),
        Arg("limit", INT, "At most this many; 0: all.", default=limits.LIST_JOBS, minimum=0, metavar="N",
            mcp_help="at most this many"),
        Arg("offset", INT, "Leave out this many of the first.", default=0, minimum=0, hidden="mcp", metavar="N"),
        BUDGET,
        Arg("tags", STRS, "Only jobs with this tag, or a tag below it: project.*; of several, jobs with all.", default=(),
            cli="--tag", aliases=("tag",), metavar="TAG", mcp_help="with all of these; project.* is any below project"),
        Arg("cwd", PATH, "Only jobs of this directory (CLI: the current one by default).", metavar="DIR", mcp_help="of this directory"),
        Arg("owner", STR, "Only jobs of this client (MCP: the caller by default).", hidden="mcp", metavar="NAME"),
        Arg("host", STR, "Only jobs on this host; local: on this machine.", section="hosts", metavar="NAME", mcp_help=""),
        Arg("all", BOOL, "Jobs of every directory and client.", default=False, mcp_help="other clients' and sessions' too"),
        Arg("follow", BOOL, "Print the list again whenever it has changed, one object a line; with --human on a terminal keep a "
            "table up to date. ^C ends it.", default=False, mcp="", short="-f"),
    ),
    right=READ,
    result="root jobs truncated skipped hint?",
    slow=True,
)  # fmt: skip
