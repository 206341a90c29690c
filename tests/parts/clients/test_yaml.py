"""A YAML file of another program: one entry is added and taken out, every other character stays."""

from __future__ import annotations

import json

import pytest

from outlive.parts.clients.jsonc import Misfit, Unreadable
from outlive.parts.clients.yaml import Document

ENTRY = {"name": "outlive", "cmd": "/x/outlive", "args": ["mcp", "--isolate"], "envs": {"A": "yes: no"}, "timeout": 300}
PATH = ("extensions", "outlive")
TEXTS = [
    "",
    "# mine\n",
    "a: 1",
    "a: 1\nextensions:\n  other:\n    cmd: x # mine\n\n# next\nb:   [1,  2]\n",
    "extensions:\n    other:\n        cmd: 'x'\n",
    "extensions: # all of them\n  # the first\n  other: {cmd: x}\nz: |\n  extensions:\n    text\n",
    'a: "1"\r\nextensions:\r\n  other:\r\n    cmd: x\r\n',
]


def test_an_entry_comes_and_goes_and_nothing_else_changes() -> None:
    for text in TEXTS:
        document = Document(text)
        others = dict(document.value.get("extensions") or {})
        document.set(PATH, ENTRY)
        assert Document(document.text).value["extensions"] == {**others, "outlive": ENTRY}
        assert document.remove(PATH)
        assert document.text.rstrip("\r\n") == text.rstrip("\r\n")
        assert not document.remove(PATH)


def test_lines_that_were_there_stay_as_they_are_while_the_entry_is_there() -> None:
    document = Document(TEXTS[3])
    document.set(PATH, ENTRY)
    assert [line for line in document.text.splitlines() if line in TEXTS[3].splitlines()] == TEXTS[3].splitlines()


def test_a_name_and_a_value_may_be_of_any_type_and_are_read_as_json_has_them() -> None:
    text = "1: {cmd: a, 3: [1, 1.5, true]}\n~: x\n2020-01-01: {A: 2021-02-03, B: 2021-02-03T04:05:06Z, C: null}\n"
    value = Document(text).value
    assert value == {
        "1": {"cmd": "a", "3": [1, 1.5, True]},
        "None": "x",
        "2020-01-01": {"A": "2021-02-03", "B": "2021-02-03T04:05:06+00:00", "C": None},
    }
    assert json.loads(json.dumps(value)) == value


def test_a_text_in_another_style_is_changed_too() -> None:
    for text in ["extensions: {}\n", "extensions: {other: {cmd: x}} # mine\n", "extensions:\n"]:
        document = Document(text)
        before = document.value
        document.set(PATH, ENTRY)
        assert document.get(PATH) == ENTRY
        document.set((*PATH, "timeout"), 5)
        assert document.get((*PATH, "timeout")) == 5
        assert document.remove((*PATH, "timeout"))
        document.remove(PATH)
        assert (document.value.get("extensions") or {}) == (before["extensions"] or {})


def test_a_member_is_changed_and_comments_stay() -> None:
    document = Document("extensions:\n  outlive: # mine\n    cmd: /old # moved\n    enabled: false\n")
    document.set((*PATH, "cmd"), "/new")
    assert document.text == "extensions:\n  outlive: # mine\n    cmd: /new # moved\n    enabled: false\n"


def test_what_is_no_yaml_is_told_with_its_line() -> None:
    rows: list[tuple[str, int]] = [("a: [1\nb: 2\n", 2), ("a: 1\n\tb: 2\n", 2), ("a: 1\na: 2\n", 2)]
    for text, line in rows:
        with pytest.raises(Unreadable) as caught:
            Document(text)
        assert caught.value.line == line


def test_what_holds_no_mapping_is_told() -> None:
    with pytest.raises(Misfit):
        Document("- 1\n")
    with pytest.raises(Misfit):
        Document("extensions: [1]\n").get(PATH)
