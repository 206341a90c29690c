"""What is said of the group of a job."""

from __future__ import annotations

from collections.abc import Iterable

from outlive.part import Inspection, OfJob, Said
from outlive.parts.groups import group_of
from outlive.parts.groups.answers import Grouped


class InGroup(OfJob):
    def facts(self) -> Iterable[tuple[str, str]]:
        group = group_of(self.definition)
        return () if group is None else (("Group", group),)

    def given_to(self, inspection: Inspection) -> Said | None:
        entry = self.entry_of(inspection)
        return None if entry is None else Said(entry)

    def entry_of(self, inspection: Inspection) -> Grouped | None:
        group = group_of(self.definition)
        return None if group is None else Grouped(group=group)
