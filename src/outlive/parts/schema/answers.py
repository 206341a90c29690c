"""The answer of schema."""

from __future__ import annotations

from outlive.answers import TIME, Answer, field


class SchemaDocument(Answer):  # of schema
    schema_format: str = field("Which JSON Schema.", const="json-schema-2020-12")
    schema: dict[str, object] = field("The JSON Schema of every answer.")
    generated_at: str = field("When the schema last changed.", format=TIME)
