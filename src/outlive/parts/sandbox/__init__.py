"""What jobs may reach: what a call gets, what a stored job may still have, and how bubblewrap makes it so."""

from __future__ import annotations

from collections.abc import Mapping

from outlive.core.members import object_of, texts_of
from outlive.part import Config, Part


class Sandboxes(Part):
    name = "sandbox"
    arguments = {"no_systemd_scope": "outlive.parts.sandbox.arguments:ARGUMENTS"}
    settings = {"sandbox": "outlive.parts.sandbox.settings:KEYS"}
    boundary = "outlive.parts.sandbox.boundary:BOUNDARY"
    checks = {"sandbox": "outlive.parts.sandbox.check:sandbox"}
    after_waits = ("outlive.parts.sandbox.boundary",)

    def can_sandbox(self, config: Config) -> bool:
        from outlive.parts.sandbox.confinement import bubblewrap

        return bubblewrap.can_work(config.set_in("sandbox").get("bwrap"))

    def lines_for_model(self, answer: Mapping[str, object], *, process: bool) -> list[str]:
        its = object_of(answer, "sandbox")
        if not its:
            return []
        from outlive.core.quoted import quoted

        git = ", git write" if its["git"] == "write" else ""
        added = texts_of(its, "added")  # hidden or read-only
        kept = f", since its first start also kept from {', '.join(map(quoted, added))}" if added else ""
        return [f"sandbox: {its['mode']}, network {its['network']}{git}{kept}"]


PART = Sandboxes()
