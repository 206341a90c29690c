"""What a job may use: asked for, checked, applied at the start, watched while it runs, and said of it.

Facts of the kernel are in `system` (cgroup, job_group, process_use). What a job did use, its supervisor counts with limits
or without."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from outlive.core.members import object_of
from outlive.core.records import Definition
from outlive.part import Beside, Context, Inspection, Part, Said
from outlive.parts import resources
from outlive.parts.resources import RESOURCES


class Limits(Part):
    name = "limits"
    arguments = {"quota_bytes": "outlive.parts.limits.arguments:ARGUMENTS"}
    given = "outlive.parts.limits.answers:Given"
    after_waits = ("outlive.parts.limits.of_job",)

    def kept(self, ctx: Context, args: Mapping[str, object]) -> dict[str, object]:
        given = object_of(args, RESOURCES)
        if not given:
            return {RESOURCES: None}
        from outlive.parts.limits import vocabulary

        asked = vocabulary.parsed(given)
        return {RESOURCES: None if asked is None else asked.to_dict()}

    def check(self, definition: Definition) -> None:
        if definition.kept.get(RESOURCES) is None:
            return
        from outlive.errors import invalid

        try:
            resources.of_job(definition)
        except ValueError as error:
            raise invalid(RESOURCES, str(error)) from error

    def needs_scope(self, definition: Definition) -> bool:
        asked = definition.kept.get(RESOURCES)
        if asked is None or definition.host is not None:
            return False
        from outlive.system import job_group

        return job_group.needs_scope(asked)

    def facts(self, definition: Definition) -> Iterable[tuple[str, str]]:
        if definition.kept.get(RESOURCES) is None:
            return ()
        from outlive.parts.limits import of_job

        return of_job.facts(definition)

    def given_to(self, inspection: Inspection) -> Said | None:
        if inspection.definition.kept.get(RESOURCES) is None:
            return None
        from outlive.parts.limits import of_job

        return of_job.given(inspection)

    def beside_usage(self, answer: Mapping[str, object]) -> Iterable[Beside]:
        if not answer.get(RESOURCES):
            return ()
        from outlive.parts.limits import of_job

        return of_job.beside_usage(answer)


PART = Limits()
