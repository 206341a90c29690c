"""Jobs that belong together, and are listed, awaited, read and ended by the name of their group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from outlive.part import Context, Definition, Fields, Inspection, Part, Said, Selected

GROUP = "group"  # the argument, and the member of `meta.json` and of answers


def of_job(definition: Definition) -> str | None:
    """Return the group of a job; None if it has none. What another program has spoilt is none."""
    group = definition.kept.get(GROUP)
    return group if isinstance(group, str) and group else None


class Groups(Part):
    name = "groups"
    arguments = {
        "tags": "outlive.parts.groups.arguments:OF_JOB",
        "owner": "outlive.parts.groups.arguments:OF_JOBS",
        "job": "outlive.parts.groups.arguments:OF_JOBS",
    }
    given = "outlive.parts.groups.answers:Grouped"
    listed = "outlive.parts.groups.answers:Grouped"

    def kept(self, ctx: Context, args: Mapping[str, object]) -> dict[str, object]:
        group = args.get(GROUP)
        if not isinstance(group, str):
            return {}
        from outlive.parts.groups import members

        return {GROUP: members.checked(group)}

    def facts(self, definition: Definition) -> Iterable[tuple[str, str]]:
        group = of_job(definition)
        return () if group is None else (("Group", group),)

    def given_to(self, inspection: Inspection) -> Said | None:
        entry = self.entry_of(inspection)
        return None if entry is None else Said(entry)

    def entry_of(self, inspection: Inspection) -> Fields | None:
        group = of_job(inspection.definition)
        if group is None:
            return None
        from outlive.parts.groups.answers import Grouped

        return Grouped(group=group)

    def selected(self, ctx: Context, args: Mapping[str, object]) -> Selected | None:
        group = args.get(GROUP)
        if not isinstance(group, str):
            return None
        from outlive.parts.groups import members

        return members.selected(ctx, group, args)


PART = Groups()
