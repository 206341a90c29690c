"""Start a command as a job."""

from __future__ import annotations

import time

from outlive.actions import define, fields, launching
from outlive.actions.spec import Verb
from outlive.job import new_id
from outlive.store.jobdir import JobDir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.actions.driver import Waiting
    from outlive.actions.spec import Context


def run(
    ctx: Context,
    *,
    yield_ms: int,
    background: bool = False,
    wait: bool = False,
    propagate: bool = False,
    wait_poll_ms: int | None = None,
    tail_lines: int = 0,
    max_bytes: int | None = None,
    raw: bool = False,
    **args: Any,
) -> Waiting[dict[str, Any]]:
    """Start a job; answer when it has ended, or after `yield_ms`."""
    began = time.monotonic()
    until = launching.deadline(began, wait=wait, background=background, yield_ms=yield_ms)
    show = {"tail_lines": tail_lines, "max_bytes": max_bytes, "raw": raw}
    plan = define.plan(ctx, new_id(), start_now=True, **args)
    if plan.definition.dedupe_key is None:
        return (yield from launching.run_job(ctx, plan, show, until=until))
    with launching.Deduplication(ctx) as keyed:
        other = keyed.running(plan.definition)
        new = launching.make(ctx, plan, live=True) if other is None else None
    if new is not None:
        return (yield from launching.start_made(ctx, plan, new, show, began=began, until=until))
    assert other is not None
    with JobDir.open(ctx.store, other) as job:
        answer = yield from launching.watch(ctx, job, None, show, began=began, until=until)
    return answer | {"deduplicated": True}


VERB = Verb(
    "run",
    "Start a command as a job; answer when it ended, or after a while with its output so far.",
    run,
    args=(*define.ARGS, *define.WAIT_ARGS, *define.SHOW_ARGS),
    result=fields.RUN,
    detail="One word is a shell string (sh -lc); two or more are a program and its arguments, run as they stand. "
    "The job goes on whatever happens to this command.",
)
