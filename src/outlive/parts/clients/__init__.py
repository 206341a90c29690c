"""The MCP clients: what their configuration files are like, what they start, and how long they wait."""

from __future__ import annotations

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
    longest_call_ms = "outlive.parts.clients.patience:longest_call_ms"
    checks = {"clients": "outlive.parts.clients.check:clients"}


PART = Clients()
