"""Jobs that belong together, and are listed, awaited, read and ended by the name of their group."""

from __future__ import annotations

from collections.abc import Mapping

from outlive.part import Context, Definition, Part, Selected

GROUP = "group"  # the argument, and the member of `meta.json` and of answers


def group_of(definition: Definition) -> str | None:
    """Return the group of a job; None if it has none. What another program has spoilt is none."""
    group = definition.kept.get(GROUP)
    return group if isinstance(group, str) and group else None


class Groups(Part):
    name = "groups"
    of_job = "outlive.parts.groups.of_group:InGroup"
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

    def selected(self, ctx: Context, args: Mapping[str, object]) -> Selected | None:
        group = args.get(GROUP)
        if not isinstance(group, str):
            return None
        from outlive.parts.groups import members

        return members.selected(ctx, group, args)


PART = Groups()
