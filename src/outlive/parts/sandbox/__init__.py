"""What jobs may reach: what a call gets, what a stored job may still have, and how bubblewrap makes it so."""

from __future__ import annotations

from outlive.part import Config, Part


class Sandboxes(Part):
    name = "sandbox"
    boundary = "outlive.parts.sandbox.boundary:BOUNDARY"
    checks = {"sandbox": "outlive.parts.sandbox.check:sandbox"}
    after_waits = ("outlive.parts.sandbox.boundary",)

    def can_sandbox(self, config: Config) -> bool:
        from outlive.parts.sandbox.confinement import bubblewrap

        return bubblewrap.can_work(config.get("sandbox", "bwrap"))


PART = Sandboxes()
