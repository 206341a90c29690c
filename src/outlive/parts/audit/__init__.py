"""Who did what: a line for each act, written before it is done, and one for each end of a job ([audit] of the
configuration)."""

from __future__ import annotations

from outlive.part import Part

AUDIT = "audit"  # the section of the configuration


class Audit(Part):
    name = "audit"
    verbs = {"audit": "outlive.parts.audit.verbs:AUDIT"}
    settings = {AUDIT: "outlive.parts.audit.settings:KEYS"}
    for_supervisor = {AUDIT: "outlive.parts.audit.settings:for_supervisor"}
    about_to = {AUDIT: "outlive.parts.audit.in_callers:note"}
    never_started = {AUDIT: "outlive.parts.audit.in_callers:note_unstarted"}
    checks = {"audit": "outlive.parts.audit.check:audit"}


PART = Audit()
