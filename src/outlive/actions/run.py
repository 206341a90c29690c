"""Start a command as a job."""

from __future__ import annotations

from outlive.actions import access, answers, define, launching
from outlive.actions.spec import Verb
from outlive.job import new_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.actions.driver import Waiting
    from outlive.actions.spec import Context


def run(ctx: Context, **args: Any) -> Waiting[dict[str, Any]]:
    """Start a job; answer when it has ended, or after `yield_ms`."""
    seen = launching.Observation.taken_from(args)
    plan = define.plan(ctx, new_id(), start_now=True, **args)
    if plan.definition.dedupe_key is None:
        return (yield from launching.run_job(ctx, plan, seen))
    keyed = launching.Deduplication(ctx)
    try:
        yield from keyed.acquire()
        other = keyed.running(plan.definition)
        new = launching.make(ctx, plan, live=True) if other is None else None
    finally:
        keyed.close()
    if new is not None:
        return (yield from launching.start_made(ctx, plan, new, seen))
    assert other is not None
    with access.open_known(ctx, other) as job:
        answer = yield from launching.watch(ctx, job, None, seen)
    return answer | {"deduplicated": True}


VERB = Verb(
    "run",
    "Start a command as a job; answer when it ended, or after a while with its output so far.",
    run,
    args=(*define.ARGS, *define.WAIT_ARGS, *define.SHOW_ARGS),
    result=answers.RUN,
    detail="One word is a shell string (sh -lc); two or more are a program and its arguments, run as they stand. "
    "The job goes on whatever happens to this command.",
)
