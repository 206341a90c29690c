"""The MCP clients: what their configuration files are like, what they start, and how long they wait."""

from __future__ import annotations

from collections.abc import Mapping

from outlive.part import Part


class Clients(Part):
    name = "clients"
    verbs = {
        "hook": "outlive.parts.clients.verbs:HOOK",
        "install": "outlive.parts.clients.verbs:INSTALL",
        "uninstall": "outlive.parts.clients.verbs:UNINSTALL",
    }
    for_person = {
        "install": "outlive.parts.clients.person:for_person",
        "uninstall": "outlive.parts.clients.person:for_person",
    }
    checks = {"clients": "outlive.parts.clients.check:clients"}

    def longest_call_ms(self, client: str, env: Mapping[str, str], cwd: str | None) -> int | None:
        from outlive.parts.clients import patience

        return patience.longest_call_ms(client, env, cwd)


PART = Clients()
