"""Which jobs are in a group, and which of them a call is about."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from outlive import limits
from outlive.core.members import text_of
from outlive.core.quoted import one_line
from outlive.core.record import Value
from outlive.errors import OutliveError, argument, invalid
from outlive.jobs import lookup, several
from outlive.jobs.context import Context
from outlive.part import Definition, Selected
from outlive.parts.groups import GROUP, group_of

_ALL_OF_THEM = ("list", "remove")  # of the group; the other verbs are about its last run


class Member(Value):
    """A job of a group."""

    definition: Definition
    finished_at: str | None  # None: it has not ended, as far as its files say
    is_begun: bool  # False: `create` made it, and it was not started
    may_run: bool  # something of it

    @property
    def job_id(self) -> str:
        return self.definition.job_id


def kept(ctx: Context, args: Mapping[str, object]) -> dict[str, object]:
    """Return what is kept of a call: the name of the group. Errors: invalid_argument."""
    return {GROUP: _checked(text_of(args, GROUP))}


def _checked(group: str) -> str:
    name = one_line(group)
    if not name or len(name) > limits.MAX_TITLE_CHARS:
        message = f"{argument(GROUP)} is a name of 1 to {limits.MAX_TITLE_CHARS} characters, not {group[:60]!r}"
        raise invalid(GROUP, message, hint="Jobs that are given the same name are one group.")
    return name


def selected(ctx: Context, args: Mapping[str, object]) -> Selected:
    """Return the jobs of a group that a call is about, and what a list says if there are none. Errors: invalid_argument."""
    group = _checked(text_of(args, GROUP))
    found = list(_every(ctx, group))
    is_open = ctx.verb == "list" and any(args.get(name) for name in ("all", "cwd", "owner"))
    mine = found if is_open else [one for one in found if several.is_mine(ctx, one.definition)]
    chosen = mine if ctx.verb in _ALL_OF_THEM else _last_run(mine)
    if ctx.verb == "kill":
        chosen = [one for one in mine if one.may_run] or chosen
    return Selected([one.job_id for one in chosen], _hint(ctx, group, len(mine), len(found)), f"the group {group}")


def _hint(ctx: Context, group: str, mine: int, every: int) -> str:
    if mine:
        return ""
    if not every:
        return f"No job is in the group {group}."
    where = "this session" if ctx.face == "mcp" else "this directory"
    others = "1 job is" if every == 1 else f"{every} jobs are"
    call = "list with all=true" if ctx.face == "mcp" else "list --all"
    return f"No job of {where} is in the group {group}; {others} elsewhere: {call} shows them."


def _every(ctx: Context, group: str) -> Iterator[Member]:
    """Yield the jobs in this group that exist for the caller, newest first."""
    live, left = set(lookup.live_ids(ctx.caller)), set(lookup.left_ids(ctx.caller))
    kept = f'"{GROUP}":{json.dumps(group)}'.encode()  # as atomic_file.dump writes it
    for job in lookup.defined_with(ctx.caller, kept, before=None, most=limits.TITLED_JOBS):
        with job:
            try:
                definition, state = job.read_meta(), job.read_state()
            except (OSError, OutliveError):  # removed meanwhile, or damaged
                continue
            if group_of(definition) != group:
                continue
            is_begun = state is None or state.state != "created" or job.job_id in live
            ended = state.finished_at if state is not None and state.finished else None
            yield Member(definition, ended, is_begun, job.job_id in live or job.job_id in left)


def _last_run(members: list[Member]) -> list[Member]:
    """Return of the jobs of a group, newest first, those that were started and whose lives overlap: from the newest on
    back, each that had not ended when the next one was made. A job that was restarted has another one in its place."""
    again = {one.definition.restarted_from for one in members}
    run: list[Member] = []
    for one in members:
        ended_before = run and one.finished_at is not None and one.finished_at < run[-1].definition.created_at
        if one.is_begun and one.job_id not in again and not ended_before:
            run.append(one)
    return run
