"""Ports of a job's own, leased for as long as it lives."""

from __future__ import annotations

from outlive.part import Part

PORTS = "ports"  # the argument, the section of the configuration, and the member of `meta.json` and of `state.json`


class Ports(Part):
    name = "ports"
    settings = {PORTS: "outlive.parts.ports.settings:KEYS"}
    arguments = {
        "dedupe_key": "outlive.parts.ports.arguments:OF_JOB",
        "owner": "outlive.parts.ports.arguments:OF_LIST",
    }
    kept = {PORTS: "outlive.parts.ports.checks:kept"}
    selected = {"port": "outlive.parts.ports.at_port:selected"}
    of_job = "outlive.parts.ports.of_job:OfPorts"
    fields = "outlive.parts.ports.answers:Leased"
    lines_of = {PORTS: "outlive.parts.ports.of_job:lines"}
    listed = "outlive.parts.ports.answers:InList"


PART = Ports()
