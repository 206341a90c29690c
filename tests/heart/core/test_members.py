"""Members of a JSON object that may hold anything."""

from __future__ import annotations

import pytest

from outlive.core.members import entries_of, number_of, object_of, parse_json, text_of, texts_of

GIVEN: dict[str, object] = {
    "text": "a",
    "number": 3,
    "object": {"inner": "b"},
    "objects": [{"one": 1}, "no object"],
    "texts": ["c", 4],
    "null": None,
}


def test_a_member_is_read_as_what_its_reader_needs() -> None:
    assert (text_of(GIVEN, "text"), number_of(GIVEN, "number")) == ("a", 3)
    assert text_of(object_of(GIVEN, "object"), "inner") == "b"
    assert (entries_of(GIVEN, "objects"), texts_of(GIVEN, "texts")) == ([{"one": 1}], ["c"])


def test_a_member_that_is_missing_or_of_another_type_reads_as_nothing() -> None:
    for name in ("missing", "null", "number"):
        assert (text_of(GIVEN, name), object_of(GIVEN, name)) == ("", {})
        assert (entries_of(GIVEN, name), texts_of(GIVEN, name)) == ([], [])
    assert number_of(GIVEN, "text") == number_of(GIVEN, "missing") == 0


def test_what_is_nested_too_deeply_is_refused_as_everything_is_that_cannot_be_read() -> None:
    for text in ("[" * 100_000 + "]" * 100_000, '{"a":' * 100_000):
        with pytest.raises(ValueError, match="nested too deeply"):
            parse_json(text)
