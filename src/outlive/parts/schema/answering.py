"""What `outlive schema` answers, and how a person is shown it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from outlive.cli.text import Style
from outlive.jobs.context import Context
from outlive.parts.schema.answers import SchemaDocument
from outlive.parts.schema.document import CHANGED, document


def schema(ctx: Context) -> SchemaDocument:
    """Return a JSON Schema (2020-12) with one definition for each type of answer."""
    return SchemaDocument(schema_format="json-schema-2020-12", schema=document(), generated_at=CHANGED)


def for_person(answer: Mapping[str, object], style: Style, *, verbose: bool) -> str:
    return json.dumps(answer.get("schema"), indent=2, ensure_ascii=False) + "\n"
