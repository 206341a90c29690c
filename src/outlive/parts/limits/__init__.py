"""What a job may use, and the systemd scope that it may have: asked for, checked, applied at the start, watched while it runs, and said of it.

Facts of the kernel are in `system` (cgroup, job_group, process). What a job did use, its supervisor counts with limits
or without."""

from __future__ import annotations

from outlive.part import Part
from outlive.parts.resources import RESOURCES


class Limits(Part):
    name = "limits"
    arguments = {"quota_bytes": "outlive.parts.limits.arguments:ARGUMENTS"}
    kept = {RESOURCES: "outlive.parts.limits.vocabulary:kept"}
    launchers = {
        "systemd_scope": "outlive.parts.limits.scope:asked_for",
        RESOURCES: "outlive.parts.limits.scope:for_limits",
    }
    of_job = "outlive.parts.limits.of_job:Limited"
    given = "outlive.parts.limits.answers:Given"
    beside_usage = {RESOURCES: "outlive.parts.limits.of_job:beside_usage"}


PART = Limits()
