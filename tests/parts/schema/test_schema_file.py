"""The committed schema is what the code makes, and each answer describes its own fields."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from outlive.parts.schema.document import document
from support import schema

COMMITTED = Path(__file__).parents[3] / "schema" / "outlive.schema.json"


def test_the_committed_schema_is_the_one_of_the_code() -> None:
    committed = json.loads(COMMITTED.read_text(encoding="utf-8"))
    assert committed == document(), "make generated"


@pytest.mark.parametrize("path", [schema.OWN, schema.SEED], ids=lambda path: path.name)
def test_a_committed_schema_is_one_itself(path: Path) -> None:
    document = schema.load(path)
    assert document["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(document)


@functools.cache
def definitions() -> dict[str, Any]:
    found: dict[str, Any] = document()["$defs"]
    return found


def test_an_object_that_several_answers_have_stands_in_the_schema_once() -> None:
    for type_ in ("status", "wait", "run"):
        assert definitions()[type_]["properties"]["usage"]["$ref"] == "#/$defs/Usage"
    assert definitions()["Usage"]["required"] == ["wall_ms", "user_ms", "system_ms", "peak_memory_bytes", "source"]
    written = json.dumps(definitions())
    for name, one in definitions().items():
        if name[0].isupper():
            assert written.count(json.dumps(one)) == 1, f"{name} stands in the schema more than once"


def test_a_field_is_described_as_what_it_is_in_this_answer() -> None:
    rows: list[tuple[str, str, str]] = [
        ("run", "name", "title"), ("install", "name", "server"), ("uninstall", "name", "server"),
        ("token_add", "name", "token"), ("token_revoke", "name", "token"), ("create", "created_at", "defined"),
        ("token_add", "created_at", "token"), ("install", "scope", "project"), ("token_add", "scope", "token"),
        ("kill", "signal", "sent"), ("status", "signal", "ended"), ("clear", "state", "last"),
        ("list", "skipped", "read"), ("gc", "skipped", "kept"),
    ]  # fmt: skip
    for type_, field, word in rows:
        found = definitions()[type_]["properties"][field]["description"]
        assert word in found, found
