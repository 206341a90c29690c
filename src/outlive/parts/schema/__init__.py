"""The JSON Schema of every answer."""

from __future__ import annotations

from outlive.part import Part


class Schema(Part):
    name = "schema"
    verbs = {"schema": "outlive.parts.schema.verbs:SCHEMA"}
    for_person = {"schema": "outlive.parts.schema.answering:for_person"}


PART = Schema()
