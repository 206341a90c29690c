"""What jobs may reach: what a call gets, what a stored job may still have, and how bubblewrap makes it so."""

from __future__ import annotations

from outlive.part import Part

# File in the directory of a job: what was there before anything ran for it in the workspace
BEFORE = "sandbox.json"


class Sandboxes(Part):
    name = "sandbox"
    arguments = {"no_systemd_scope": "outlive.parts.sandbox.arguments:ARGUMENTS"}
    settings = {"sandbox": "outlive.parts.sandbox.settings:KEYS"}
    can_sandbox = "outlive.parts.sandbox.settings:can_sandbox"
    boundary = "outlive.parts.sandbox.boundary:BOUNDARY"
    lines_of = {"sandbox": "outlive.parts.sandbox.saying:lines"}
    checks = {"sandbox": "outlive.parts.sandbox.check:sandbox"}
    after_waits = ("outlive.parts.sandbox.boundary",)


PART = Sandboxes()
