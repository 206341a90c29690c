"""What a job may use: asked for, checked, applied at the start, watched while it runs, and said of it.

Facts of the kernel are in `system` (cgroup, job_group, process_use). What a job did use, its supervisor counts with limits
or without."""

from __future__ import annotations

from collections.abc import Mapping

from outlive.core.members import object_of
from outlive.part import Context, Part
from outlive.parts.resources import RESOURCES


class Limits(Part):
    name = "limits"
    arguments = {"quota_bytes": "outlive.parts.limits.arguments:ARGUMENTS"}
    of_job = "outlive.parts.limits.of_job:Limited"
    given = "outlive.parts.limits.answers:Given"
    beside_usage = {RESOURCES: "outlive.parts.limits.of_job:beside_usage"}

    def kept(self, ctx: Context, args: Mapping[str, object]) -> dict[str, object]:
        given = object_of(args, RESOURCES)
        if not given:
            return {RESOURCES: None}
        from outlive.parts.limits import vocabulary

        asked = vocabulary.parsed(given)
        return {RESOURCES: None if asked is None else asked.to_dict()}


PART = Limits()
