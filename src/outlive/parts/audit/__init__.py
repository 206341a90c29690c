"""Who did what: a line for each act, written before it is done, and one for each end of a job ([audit] of the
configuration)."""

from __future__ import annotations

from collections.abc import Mapping

from outlive.errors import OutliveError
from outlive.part import Act, Config, Context, Part

AUDIT = "audit"  # the section of the configuration


class Audit(Part):
    name = "audit"
    verbs = {"audit": "outlive.parts.audit.verbs:AUDIT"}
    settings = {AUDIT: "outlive.parts.audit.settings:KEYS"}
    after_waits = ("outlive.parts.audit.in_callers",)
    checks = {"audit": "outlive.parts.audit.check:audit"}

    def for_supervisor(self, config: Config, env: Mapping[str, str]) -> dict[str, object] | None:
        if not config.has(AUDIT):
            return None
        from outlive.parts.audit import settings

        target = settings.target(config, env)
        return None if target is None else target.to_dict()

    def about_to(self, act: Act) -> None:
        if act.ctx.config.has(AUDIT):
            from outlive.parts.audit import in_callers

            in_callers.note(act)

    def never_started(self, ctx: Context, job_id: str, error: OutliveError) -> None:
        if ctx.config.has(AUDIT):
            from outlive.parts.audit import in_callers

            in_callers.note_unstarted(ctx, job_id, error)


PART = Audit()
