"""Patterns over lines: as they came, as they are seen, and at any cost a model can think up."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlive.core.records import CONTAINS
from outlive.errors import OutliveError
from outlive.store.output.patterns import Pattern


def lines(pattern: str, text: bytes, match_type: str = "regex") -> list[tuple[int, str, str]]:
    return [(hit.start, hit.line, hit.match) for hit in Pattern(pattern, match_type).hits(text)]


def test_a_regex_sees_lines() -> None:
    rows: list[tuple[str, bytes, list[tuple[int, str, str]]]] = [
        ("ERROR", b"a\nERROR x\nb ERROR ERROR\n", [(2, "ERROR x", "ERROR"), (10, "b ERROR ERROR", "ERROR")]),
        (r"\Ab\z", b"a\nb\nbb\n", [(2, "b", "b")]),
        ("^b$", b"a\r\nb\r\nbb\r\n", [(3, "b", "b")]),
        ("^Ready in", b"\x1b[32mReady\x1b[0m in 3s\r\nno\r\n", [(0, "Ready in 3s", "Ready in")]),
        ("50%", b"\r10%\r50%\r100%", [(5, "50%", "50%")]),
        ("^$", b"a\r\nb\n\nc\n", [(5, "", "")]),
        (r"x[^y]z", b"x\nz\n", []),
        (r"a\sb", b"a\nb\n", []),
        ("é+", "caféé\n".encode(), [(0, "caféé", "éé")]),
        ("b", b"\xff\xfe b \xff\n", [(0, "\ufffd\ufffd b", "b")]),
        ("error.*failed", b"x\nerror \xe9 failed\n", [(2, "error \ufffd failed", "error \ufffd failed")]),
        ("caf.$", b"\x1b[1mcaf\xe9\x1b[m\n", [(0, "caf", "caf")]),  # what is cut at an end is not shown
        (r"\x1b\[31m", b"ok\n\x1b[31mred\x1b[0m\n", [(3, "red", "")]),
        ("two", b"\x1b]0;a title\x07one\ntwo\n\x1b[1mtwo\n", [(16, "two", "two"), (20, "two", "two")]),
    ]
    for pattern, text, expected in rows:
        found = lines(pattern, text)
        if pattern == "b":
            assert [(start, match) for start, _, match in found] == [(0, "b")]
        else:
            assert found == expected


def test_contains_takes_every_character_as_it_is() -> None:
    assert lines("a.b*", b"aXb\na.b*\n", CONTAINS) == [(4, "a.b*", "a.b*")]


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r\x1b"), max_size=8), max_size=8))
def test_a_match_is_in_the_line_python_finds_it_in(words: list[str]) -> None:
    text = "\n".join(words)
    offsets = [len("\n".join(words[:number]).encode()) + (number > 0) for number in range(len(words))]
    expected = [offset for offset, word in zip(offsets, words, strict=True) if "a" in word]
    assert [hit.start for hit in Pattern("a").hits(text.encode())] == expected
    assert [hit.start for hit in Pattern("a", CONTAINS).hits(text.encode())] == expected


def test_a_long_line_is_cut_around_its_match() -> None:
    (hit,) = Pattern("needle").hits(b"x" * 5000 + b"needle" + b"y" * 5000 + b"\n")
    assert "needle" in hit.line
    assert len(hit.line) <= 500
    assert (hit.start, hit.end) == (0, 10_006)


@pytest.mark.fault("S15")
def test_no_pattern_takes_more_than_linear_time() -> None:
    # Backtracking would take 2 to the power of 100,000 steps: this test would not end.
    assert lines("(a+)+$", b"a" * 100_000 + b"b\n") == []
    assert re.fullmatch("a{100000}", "a" * 100_000)
    assert len(lines("(a|aa)+$", b"a" * 100_000 + b"\n")) == 1


def test_what_is_no_pattern_is_an_error() -> None:
    for pattern in ["(", "", "a" * 1001, "(?=a)", r"(a)\1", "a\nb"]:
        with pytest.raises(OutliveError) as found:
            Pattern(pattern, field="watch")
        assert found.value.code == "invalid_argument"
        assert found.value.details == {"field": "watch"}
        assert "(?m)" not in found.value.message
