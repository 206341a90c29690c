"""A configuration in TOML is changed in one table; the rest stays as it is."""

from __future__ import annotations

import tomllib

import pytest

from outlive.parts.clients.jsonc import Misfit, Unreadable
from outlive.parts.clients.toml import Document

ENTRY = {"command": "/bin/outlive", "args": ["mcp"], "env": {"OUTLIVE_ROOT": "/jobs"}}
PATH = ("mcp_servers", "outlive")
BLOCK = '[mcp_servers.outlive]\ncommand = "/bin/outlive"\nargs = ["mcp"]\nenv = {OUTLIVE_ROOT = "/jobs"}\n'
TEXT = """\
# mine
model = "x"   # the best

[mcp_servers.other]
command = "a" # keep me

[mcp_servers.outlive]
command = "outlive"
# inner
args = [
    "mcp", # the verb
]

[mcp_servers.outlive.env]
A = "b"

# Work
[profiles.work]
x = 1
"""


def put(text: str) -> str:
    document = Document(text)
    document.set(PATH, ENTRY)
    return document.text


def taken(text: str) -> str:
    document = Document(text)
    assert document.remove(PATH)
    assert not document.remove(PATH)
    return document.text


def test_a_table_is_added_at_the_end_and_goes_without_a_trace() -> None:
    rows: list[str] = [
        "",
        'model = "x"\n',
        "# only a comment\n",
        "[mcp_servers.a]\nx = 1\n[z]\ny = 1\n# end\n",
        "[mcp_servers]\n",
        '[[many]]\na = """\n[mcp_servers.outlive]\n"""\n',
    ]
    for text in rows:
        added = put(text)
        assert added == text + ("\n" if text else "") + BLOCK
        assert tomllib.loads(added)["mcp_servers"]["outlive"] == ENTRY
        assert taken(added).rstrip("\n") == text.rstrip("\n")


def test_lines_end_as_the_others_do() -> None:
    added = put('model = "x"\r\n')
    assert added.count("\r\n") == added.count("\n") == 6
    assert tomllib.loads(taken(added)) == {"model": "x"}


def test_a_table_goes_with_what_is_below_it_and_comments_of_the_next_one_stay() -> None:
    assert taken(TEXT) == TEXT[: TEXT.index("[mcp_servers.outlive]")] + TEXT[TEXT.index("\n# Work") :]


def test_one_value_of_a_table_is_replaced_where_it_stands() -> None:
    document = Document(TEXT)
    document.set((*PATH, "command"), "/bin/outlive")
    assert document.text == TEXT.replace('"outlive"', '"/bin/outlive"')
    assert document.remove((*PATH, "args"))
    assert "args" not in document.get(PATH)
    assert "# Work\n[profiles.work]" in document.text


def test_a_value_that_is_new_in_a_table_leaves_all_others() -> None:
    document = Document(TEXT)
    document.set(("mcp_servers", "other", "env"), {"A": "b"})
    before = tomllib.loads(TEXT)
    before["mcp_servers"]["other"]["env"] = {"A": "b"}
    assert document.value == before
    for comment in ("# mine", "# the best", "# keep me", "# inner", "# the verb", "# Work"):
        assert comment in document.text


def test_a_table_written_in_another_way_is_changed_too() -> None:
    rows: list[str] = [
        'mcp_servers = {other = {command = "a"}}\nx = 1 # keep me\n',
        'mcp_servers.other.command = "a"\nx = 1 # keep me\n',
        'x = 1 # keep me\n[mcp_servers]\nother = {command = "a"}\n',
        'x = 1 # keep me\n["mcp_servers"."other"]\ncommand = "a"\n',
    ]
    for text in rows:
        added = put(text)
        assert tomllib.loads(added) == {"x": 1, "mcp_servers": {"other": {"command": "a"}, "outlive": ENTRY}}
        assert tomllib.loads(taken(added)) == {"x": 1, "mcp_servers": {"other": {"command": "a"}}}
        assert "# keep me" in taken(added)


def test_a_name_that_needs_quotes_gets_them() -> None:
    document = Document("")
    document.set(("mcp_servers", "my jobs"), {"command": "x"})
    assert document.text == '[mcp_servers."my jobs"]\ncommand = "x"\n'
    assert document.remove(("mcp_servers", "my jobs"))
    assert document.text == ""


def test_an_error_says_where() -> None:
    rows: list[tuple[str, int]] = [('a = 1\nb = "x\n', 2), ("[a]\n[a]\n", 2), ("x", 1)]
    for text, line in rows:
        with pytest.raises(Unreadable) as caught:
            Document(text)
        assert caught.value.line == line


def test_what_is_no_table_gets_no_member() -> None:
    with pytest.raises(Misfit):
        put("mcp_servers = 1\n")
