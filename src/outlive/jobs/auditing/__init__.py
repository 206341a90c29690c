"""The audit record of what callers do. Without [audit] in the configuration, nothing else is loaded."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.core.records import AuditTarget
    from outlive.errors import OutliveError
    from outlive.jobs.context import Context
    from outlive.jobs.definition import Plan


def note(ctx: Context, verb: str, job_id: str | None = None, **facts: object) -> None:
    """Record that the caller is about to do this, if [audit] of the configuration says so. Errors:
    io_error if it cannot be recorded, and has to be."""
    if ctx.config.get("audit", "to") != "off":
        from outlive.jobs.auditing import notes

        notes.note(ctx, verb, job_id, **facts)


def note_start(ctx: Context, verb: str, plan: Plan) -> AuditTarget | None:
    """Record that the caller is about to start or define a job. Return where its supervisor records
    its end, None if nothing is recorded. Errors: io_error, as `note`."""
    if ctx.config.get("audit", "to") == "off":
        return None
    from outlive.jobs.auditing import notes

    return notes.note_start(ctx, verb, plan)


def note_unstarted(ctx: Context, job_id: str, error: OutliveError) -> None:
    """Record that the start failed before the command ran."""
    if ctx.config.get("audit", "to") != "off":
        from outlive.jobs.auditing import notes

        notes.note_unstarted(ctx, job_id, error)
