"""Ports of a job's own, leased for as long as it lives."""

from __future__ import annotations

from collections.abc import Mapping

from outlive.part import Context, Part, Selected

PORTS = "ports"  # the argument, the section of the configuration, and the member of `meta.json` and of `state.json`


class Ports(Part):
    name = "ports"
    settings = {PORTS: "outlive.parts.ports.settings:KEYS"}
    arguments = {
        "dedupe_key": "outlive.parts.ports.arguments:OF_JOB",
        "owner": "outlive.parts.ports.arguments:OF_LIST",
    }
    of_job = "outlive.parts.ports.of_job:OfPorts"
    fields = "outlive.parts.ports.answers:Leased"
    lines_of = {PORTS: "outlive.parts.ports.of_job:lines"}
    listed = "outlive.parts.ports.answers:InList"
    after_waits = ("outlive.parts.ports.at_port",)

    def kept(self, ctx: Context, args: Mapping[str, object]) -> dict[str, object]:
        if not args.get(PORTS):
            return {}
        from outlive.parts.ports import checks

        return {PORTS: checks.parsed(ctx, args).to_dict()}

    def selected(self, ctx: Context, args: Mapping[str, object]) -> Selected | None:
        port = args.get("port")
        if not isinstance(port, int):
            return None
        from outlive.parts.ports import at_port

        return at_port.selected(ctx, port)


PART = Ports()
