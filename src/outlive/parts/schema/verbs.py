"""The verb that prints the schema."""

from __future__ import annotations

from outlive.parts.schema.answers import SchemaDocument
from outlive.verbs.spec import Verb

SCHEMA = Verb(
    "schema",
    "Print the JSON Schema of every answer.",
    "outlive.parts.schema.answering:schema",
    group="Set up",
    store=False,
    result=SchemaDocument,
)
