"""Jobs that belong together, and are listed, awaited, read and ended by the name of their group."""

from __future__ import annotations

from outlive.part import Definition, Part

GROUP = "group"  # the argument, and the member of `meta.json` and of answers


def group_of(definition: Definition) -> str | None:
    """Return the group of a job; None if it has none. What another program has spoilt is none."""
    group = definition.kept.get(GROUP)
    return group if isinstance(group, str) and group else None


class Groups(Part):
    name = "groups"
    of_job = "outlive.parts.groups.of_group:InGroup"
    kept = {GROUP: "outlive.parts.groups.members:kept"}
    selected = {GROUP: "outlive.parts.groups.members:selected"}
    arguments = {
        "tags": "outlive.parts.groups.arguments:OF_JOB",
        "owner": "outlive.parts.groups.arguments:OF_JOBS",
        "job": "outlive.parts.groups.arguments:OF_JOBS",
    }
    given = "outlive.parts.groups.answers:Grouped"
    listed = "outlive.parts.groups.answers:Grouped"


PART = Groups()
