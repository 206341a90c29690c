"""Jobs that start when other jobs have come so far."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from outlive.part import Context, Definition, Fields, Inspection, Look, Part, Said

AFTER = "after"  # the argument, and the member of `meta.json` and of `state.json`


class After(Part):
    name = "after"
    arguments = {"dedupe_key": "outlive.parts.after.arguments:OF_JOB"}
    fields = "outlive.parts.after.answers:Waits"
    listed = "outlive.parts.after.answers:InList"
    after_waits = ("outlive.parts.after.of_job",)

    def kept(self, ctx: Context, args: Mapping[str, object]) -> dict[str, object]:
        if not args.get(AFTER):
            return {}
        from outlive.parts.after import checks

        return {AFTER: [edge.to_dict() for edge in checks.parsed(ctx, args)]}

    def check(self, definition: Definition) -> None:
        if definition.kept.get(AFTER) is not None:
            from outlive.parts.after import checks

            checks.require(definition)

    def facts(self, definition: Definition) -> Iterable[tuple[str, str]]:
        if definition.kept.get(AFTER) is None:
            return ()
        from outlive.parts.after import of_job

        return of_job.facts(definition)

    def needs_of(self, definition: Definition) -> Collection[str]:
        if definition.kept.get(AFTER) is None:
            return ()
        from outlive.parts.after import of_job

        return [edge.job for edge in of_job.edges(definition)]

    def described(self, look: Look) -> Said | None:
        if look.inspection.definition.kept.get(AFTER) is None:
            return None
        from outlive.parts.after import of_job

        return of_job.said(look.inspection)

    def entry_of(self, inspection: Inspection) -> Fields | None:
        if inspection.definition.kept.get(AFTER) is None:
            return None
        from outlive.parts.after import of_job

        return of_job.entry(inspection)

    def why_not_started(self, answer: Mapping[str, object]) -> str | None:
        if not answer.get("waiting_for"):
            return None
        from outlive.parts.after import of_job

        return of_job.why_not_started(answer)


PART = After()
