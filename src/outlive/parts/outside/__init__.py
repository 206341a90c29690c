"""Conditions of a wait that look at the machine, not at the job's own files: a port, a web server, a file."""

from __future__ import annotations

from outlive.part import Part


class Outside(Part):
    name = "outside"
    conditions = {
        "port": "outlive.parts.outside.kinds:PORT",
        "http": "outlive.parts.outside.kinds:HTTP",
        "file": "outlive.parts.outside.kinds:FILE",
    }


PART = Outside()
