"""Start a command as a job."""

from __future__ import annotations

from outlive.core.ids import new_id
from outlive.jobs import definition, lookup, run_answer, starting
from outlive.verbs import shared_args
from outlive.verbs.spec import Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting


def run(ctx: Context, **args: Any) -> Waiting[dict[str, Any]]:
    """Start a job, and answer when it has ended or after `yield_ms`."""
    reply = run_answer.Reply.taken_from(args)
    plan = definition.plan(ctx, new_id(), start_now=True, **args)
    if plan.definition.dedupe_key is None:
        return (yield from run_answer.run_job(ctx, plan, reply))
    from outlive.jobs.dedupe import Deduplication

    keyed = Deduplication(ctx)
    try:
        yield from keyed.acquire()
        other = keyed.running(plan.definition)
        new = starting.make(ctx, plan, live=True) if other is None else None
    finally:
        keyed.close()
    if new is not None:
        return (yield from run_answer.start_made(ctx, plan, new, reply))
    assert other is not None
    with lookup.open_known(ctx, other) as job:
        answer = yield from run_answer.wait_and_answer(ctx, job, None, reply)
    return answer | {"deduplicated": True}


VERB = Verb(
    "run",
    "Start a command as a job. Answer when it has ended, or after a while with its output so far.",
    run,
    args=(*shared_args.DEFINITION, *shared_args.WAITING, *shared_args.SHOWN),
    result=run_answer.RUN,
    detail="One word is a shell string (sh -lc); two or more are a program and its arguments, run as they stand. "
    "The job goes on whatever happens to this command.",
)
