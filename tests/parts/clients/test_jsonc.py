"""A configuration in JSON is changed in one place; not a character of the rest is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlive.parts.clients.jsonc import Document, Misfit, Unreadable

ENTRY = {"command": "/bin/outlive", "args": ["mcp"]}
PATH = ("mcpServers", "outlive")


def put(text: str, value: Any = ENTRY, path: tuple[str, ...] = PATH) -> str:
    document = Document(text)
    document.set(path, value)
    return document.text


def taken(text: str, path: tuple[str, ...] = PATH) -> str:
    document = Document(text)
    assert document.remove(path)
    assert not document.remove(path)
    return document.text


COMMENTED = """\
// who may do what
{
    // mine
    "servers": {
        "first": {"command": "a", "args": ["x"]}, // keep me
        /* and me */
        "second": {
            "command": "b", // here too
        }, // behind it
    },
    "inputs": [
        { "id": "key" }, // asked once
    ],
}
// the end
"""


def test_a_member_is_added_below_the_others_in_their_style_and_comments_stay() -> None:
    assert put(COMMENTED, path=("servers", "outlive")) == COMMENTED.replace(
        "        }, // behind it\n",
        "        }, // behind it\n"
        '        "outlive": {\n'
        '            "command": "/bin/outlive",\n'
        '            "args": ["mcp"]\n'
        "        },\n",
    )


def test_a_member_goes_with_its_line_and_its_comma_and_comments_stay() -> None:
    second = '        "second": {\n            "command": "b", // here too\n        }, // behind it\n'
    assert second in COMMENTED
    assert taken(COMMENTED, ("servers", "second")) == COMMENTED.replace(second, "        // behind it\n")
    first = '        "first": {"command": "a", "args": ["x"]}, // keep me\n'
    assert taken(COMMENTED, ("servers", "first")) == COMMENTED.replace(first, "        // keep me\n")


def test_one_value_is_replaced_where_it_stands() -> None:
    assert put(COMMENTED, "c", ("servers", "second", "command")) == COMMENTED.replace('"b"', '"c"')


def test_items_come_to_and_go_from_a_list() -> None:
    document = Document(COMMENTED)
    document.append(("inputs",), {"id": "two"})
    assert document.get(("inputs",)) == [{"id": "key"}, {"id": "two"}]
    assert '{ "id": "key" }, // asked once\n' in document.text
    document.drop(("inputs",), 1)
    assert document.text == COMMENTED
    document = Document("{}")
    document.append(("inputs",), 1)
    assert document.value == {"inputs": [1]}


def test_what_was_added_and_taken_out_again_has_left_nothing_behind() -> None:
    rows: list[str] = [
        '{\n  "a": 1\n}\n',
        '{\n\t"a": 1,\n\t"mcpServers": {\n\t\t"other": {}\n\t}\n}',
        '{"a": 1, "mcpServers": {"other": {}}}',
        '{"mcpServers": {"other": 1}, "z": [1, 2]}\n',
        '{\r\n  "mcpServers": {\r\n    "other": 1\r\n  }\r\n}\r\n',
        '\ufeff{\n  "mcpServers": {\n    "other": 1 // last\n  }\n}\n',
        "{ mcpServers: { 'it''s'.length: 1 } }".replace("'it''s'.length", "'it\\'s'"),
        '{"mcpServers": {"other": [0x1F, +1, .5, Infinity]}}',
    ]
    for text in rows:
        servers = "mcpServers" in Document(text).value
        added = put(text)
        assert Document(added).get(PATH) == ENTRY
        assert taken(taken(added), ("mcpServers",)) == text if not servers else taken(added) == text
        assert ("\r\n" in text) == ("\r\n" in added)
        assert added.replace("\r\n", "").count("\n") == 0 or "\r\n" not in text


def test_where_there_was_nothing_there_is_one_member() -> None:
    rows: list[tuple[str, str]] = [
        ("", '{\n  "mcpServers": {\n    "outlive": 1\n  }\n}\n'),
        (" \n", ' \n{\n  "mcpServers": {\n    "outlive": 1\n  }\n}\n'),
        ("{}", '{\n  "mcpServers": {\n    "outlive": 1\n  }\n}'),
        ('{"mcpServers": { } }', '{"mcpServers": {\n  "outlive": 1\n} }'),
        (
            '{\n  "mcpServers": {\n    // none yet\n  }\n}',
            '{\n  "mcpServers": {\n    "outlive": 1\n    // none yet\n  }\n}',
        ),
    ]
    for text, found in rows:
        assert put(text, 1) == found


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=25,
)


@given(
    st.dictionaries(st.text(max_size=8), JSON_VALUES, max_size=5), st.sampled_from([None, 1, 2, 4, "\t"]), st.booleans()
)
def test_any_configuration_keeps_all_else(value: dict[str, Any], indent: Any, plain: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=plain)
    assert Document(text).value == value
    added = put(text, ENTRY, ("outlive-servers", "outlive"))
    assert json.loads(added) == {**value, "outlive-servers": {"outlive": ENTRY}}
    assert json.loads(taken(added, ("outlive-servers",))) == value
    for key in value:
        rest = {name: item for name, item in value.items() if name != key}
        assert json.loads(taken(text, (key,))) == rest
        assert json.loads(put(text, ENTRY, (key,))) == {**value, key: ENTRY}


@given(st.text(alphabet="{}[]:,\"'/*\n a1.\\"))
def test_no_text_is_read_as_json_that_is_none(text: str) -> None:
    try:
        found = Document(text).value
    except Unreadable:
        with pytest.raises(ValueError):
            json.loads(text)
    else:
        try:
            assert json.loads(text or "{}") == found or not text.strip()
        except ValueError:
            return  # comments, commas, quotes: what JSON has not and other clients read


def test_an_error_says_where_and_what() -> None:
    rows: list[tuple[str, int, str]] = [
        ('{\n  "a": 1\n  "b": 2\n}', 3, "comma"), ('{\n  "a": {\n', 2, "never closed"),
        ('{\n  "a": tru\n}', 2, "not a value"), ('{"a" 1}', 1, "colon"), ('{"a": "x\n"}', 1, "never closed"),
        ("{}\n\n{}", 3, "follows"), ("{,}", 1, "name"), ("[" * 500, 1, "deep"),
        ("// only a comment", 1, "value is missing"),
    ]  # fmt: skip
    for text, line, why in rows:
        with pytest.raises(Unreadable) as caught:
            Document(text)
        assert caught.value.line == line
        assert why in caught.value.why


def test_a_client_that_reads_no_comments_has_no_file_with_some() -> None:
    for text in ["{} // x", '{"a": 1,}', "{'a': 1}", "{a: 1}"]:
        Document(text)
        with pytest.raises(Unreadable):
            Document(text, strict=True)


def test_what_is_no_object_gets_no_member() -> None:
    for text in ['{"mcpServers": []}', '{"mcpServers": "x"}', "[]", "1"]:
        with pytest.raises(Misfit):
            put(text)


def test_of_a_name_that_is_there_twice_the_last_one_counts_and_both_go() -> None:
    text = '{"mcpServers": {"outlive": 1, "x": 0, "outlive": 2}}'
    assert Document(text).get(PATH) == 2
    assert json.loads(taken(text)) == {"mcpServers": {"x": 0}}
