"""What a job may use, and the systemd scope that it may have: asked for, checked, applied at the start, watched while it runs, and said of it. And what
it uses (the verb `usage`).

Facts of the kernel are in `system` (cgroup, job_group, process). What a job did use, its supervisor counts, and
`jobs/diagnosis/use.py` tells, without this part too."""

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
    actions = {"usage": "outlive.parts.limits.verbs:USAGE"}
    for_model = {"usage": "outlive.parts.limits.wording:for_model"}
    for_person = {"usage": "outlive.parts.limits.wording:for_person"}


PART = Limits()
