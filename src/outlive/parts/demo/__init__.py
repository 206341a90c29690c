"""The demonstration that a job outlives its server."""

from __future__ import annotations

from outlive.part import Part


class Demo(Part):
    name = "demo"
    verbs = {"demo": "outlive.parts.demo.verbs:DEMO"}


PART = Demo()
