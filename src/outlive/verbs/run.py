"""Start a command as a job."""

from __future__ import annotations

from typing import Any

from outlive import parts
from outlive.answers.starting import Started
from outlive.core.ids import new_id
from outlive.core.records import Definition
from outlive.jobs import definition, lookup
from outlive.jobs.context import Context
from outlive.jobs.starting import dedupe, making
from outlive.jobs.starting.start_and_wait import StartCall
from outlive.system.fds import Closing


def run(ctx: Context, **args: Any) -> Started:
    """Start a job, and answer when it has ended or after `yield_ms`."""
    instead = parts.run_instead(ctx, args)
    if isinstance(instead, Started):
        return instead
    call = StartCall.taken_from(args)
    plan = definition.plan(ctx, new_id(), start_now=True, **args)
    plan.definition = Definition.replace(plan.definition, awaits=call.awaits)
    if plan.definition.dedupe_key is None:
        return call.run(ctx, plan)
    try:
        call.check(ctx, plan.definition)
        with Closing(dedupe.lock(ctx.caller)):
            other = dedupe.running(ctx, plan.definition)
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
