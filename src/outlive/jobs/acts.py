"""What a caller does to jobs, reported to each part before it is done. A call that changes nothing is not reported."""

from __future__ import annotations

from outlive import parts
from outlive.errors import OutliveError
from outlive.jobs.context import Context
from outlive.jobs.starting.plan import Plan
from outlive.part import Act


def about_to(ctx: Context, verb: str, job_id: str | None = None, **facts: object) -> None:
    """Report that the caller is about to do this. `verb`: as typed, or what comes of it; `facts`: what else there is to
    say of it; those that are None are left out. Errors: those of a part that refuses it; then the caller does not do it."""
    _report(Act(ctx, verb, job_id, facts))


def about_to_start(ctx: Context, verb: str, plan: Plan) -> None:
    """Report that a job is about to be started or defined, or why it is not. Errors: as `about_to`."""
    definition = plan.definition
    _report(Act(ctx, verb, definition.job_id, definition=definition, overrides=plan.overrides))


def never_started(ctx: Context, job_id: str, error: OutliveError) -> None:
    """Report that a start failed before the command ran: no supervisor does."""
    for _, hear in parts.functions_for("never_started", ctx.config.has):
        hear(ctx, job_id, error)


def _report(act: Act) -> None:
    for _, hear in parts.functions_for("about_to", act.ctx.config.has):
        hear(act)  # which may refuse it
