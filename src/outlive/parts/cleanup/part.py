"""What the part adds."""

from __future__ import annotations

from outlive.part import Part
from outlive.parts.cleanup import GC


class Cleanup(Part):
    name = "cleanup"
    actions = {GC: "outlive.parts.cleanup.declaration:GC"}
    about_actions = "all old"  # behind "clear: an ended one" (mcp/introduction.py)
    settings = {GC: "outlive.parts.cleanup.settings:KEYS"}
    housekeeping = "outlive.parts.cleanup.settings:for_supervisor"
    for_person = {GC: "outlive.parts.cleanup.wording:for_person"}
    for_model = {GC: "outlive.parts.cleanup.wording:for_model"}
    checks = {GC: "outlive.parts.cleanup.check:automatic"}


PART = Cleanup()
