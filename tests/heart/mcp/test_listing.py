"""What the list of tools costs, what it shows to a model, and what it leaves open."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from outlive import config, verbs
from outlive.errors import OutliveError
from outlive.mcp import introduction
from outlive.mcp.tools import listing
from outlive.mcp.tools.arguments import Tools
from outlive.mcp.tools.offer import accepted, listed, process_verbs
from outlive.verbs.spec import BOOL, STR, Arg, Verb
from support.codex_schema import BUDGET, normalised, size

WITHOUT_SDK = """
import sys
from outlive import config, verbs
from outlive.mcp import introduction
from outlive.mcp.tools import listing, offer
tools = listing.tools(("exec", "process"), config.load({}))
assert [tool["name"] for tool in tools] == ["exec", "process"]
print(sorted({name.partition(".")[0] for name in sys.modules} & {"mcp", "mcp_types", "pydantic", "anyio", "asyncio"}))
"""


@pytest.fixture
def tools() -> dict[str, dict[str, Any]]:
    """The list of tools in the default configuration, by name."""
    listed: list[dict[str, Any]] = listing.tools(("exec", "process"), config.load({}))
    return {tool["name"]: tool for tool in listed}


@pytest.fixture
def reader() -> Tools:
    return Tools(("exec", "process"), config.load({}))


def _properties(schema: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = schema["properties"]
    return properties


# --- what it costs -------------------------------------------------------------------------------------------------


def test_codex_keeps_the_descriptions_of_both_tools(tools: dict[str, dict[str, Any]]) -> None:
    assert size(normalised(tools["process"]["inputSchema"])) <= 4_500 < BUDGET
    assert size(normalised(tools["exec"]["inputSchema"])) <= 4_500


def test_a_server_without_a_directory_requires_one() -> None:
    audience = listing.Audience(workdir_required=True)
    listed: list[dict[str, Any]] = listing.tools(("exec", "process"), config.load({}), audience)
    exec_tool, process_tool = listed
    assert exec_tool["inputSchema"]["required"] == ["command", "workdir"]
    assert exec_tool["inputSchema"]["properties"]["workdir"]["description"].startswith("Absolute path")
    assert process_tool["inputSchema"]["required"] == ["action"]


def test_both_tools_together_are_short(tools: dict[str, dict[str, Any]]) -> None:
    assert sum(map(size, tools.values())) <= 6_600


def test_they_are_short_with_what_a_configuration_adds() -> None:
    set_ = {("sandbox", "mode"): "workspace-write", ("hosts", "box"): {"kind": "ssh", "target": "box"}}
    found = config.Config(set_, None)
    listed: list[dict[str, Any]] = listing.tools(("exec", "process"), found)
    assert {"sandbox", "network", "elevated", "host"} <= listed[0]["inputSchema"]["properties"].keys()
    assert sum(map(size, listed)) <= 7_300


def test_codex_counts_a_schema_as_it_was_seen_to() -> None:
    """A description without a type is lost; bounds and defaults are; an object gets properties."""
    shown = {"type": "integer", "description": "é", "minimum": 1, "default": 3}
    watch = {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "object"}]}}
    found = normalised({"type": "object", "properties": {"b": shown, "a": {"description": "lost"}, "c": watch}})
    items = {"anyOf": [{"type": "string"}, {"type": "object", "properties": {}}]}
    properties = {"a": {}, "b": {"type": "integer", "description": "é"}, "c": {"type": "array", "items": items}}
    assert found == {"type": "object", "properties": properties}
    assert size({"a": "é"}) == 10


def test_the_list_is_made_before_the_sdk_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_SDK], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


# --- what a model is shown -----------------------------------------------------------------------------------------


def test_every_argument_says_what_it_is(tools: dict[str, dict[str, Any]]) -> None:
    silent = [
        f"{name} {argument}"
        for name, tool in tools.items()
        for argument, schema in tool["inputSchema"]["properties"].items()
        if argument != "action" and not schema.get("description")
    ]
    assert silent == []


def test_every_argument_has_a_type_without_which_codex_drops_its_description(tools: dict[str, dict[str, Any]]) -> None:
    for tool in tools.values():
        for name, schema in tool["inputSchema"]["properties"].items():
            assert "type" in schema or "anyOf" in schema, name


def test_the_first_line_of_the_instructions_says_what_a_model_needs_at_once() -> None:
    line = introduction.INSTRUCTIONS.partition("\n")[0]
    for said in ("jobs that survive", "prefer exec to the host's own shell", "still running → process wait"):
        assert said in line
    assert len(line) < 250


def test_codex_which_cuts_instructions_at_a_thousand_characters_shows_all_of_them() -> None:
    longest = introduction.INSTRUCTIONS + introduction.WITHOUT_DIRECTORY
    assert len(longest) <= 1_030 and len(introduction.INSTRUCTIONS) <= 1_000


# --- what it leaves open -------------------------------------------------------------------------------------------


def test_an_error_names_no_argument_that_a_model_is_not_shown(reader: Tools, tools: dict[str, dict[str, Any]]) -> None:
    """How all that have ended are deleted, an error says where an id is missing."""
    with pytest.raises(OutliveError) as raised:
        reader.read("process", {"action": "clear"})
    shown = (
        "`process` action=clear job_id=all or action=gc older_than=0s deletes all jobs that have ended, of this session"
    )
    assert shown in str(raised.value.hint).replace("⟨", "").replace("⟩", "")
    described = tools["process"]["inputSchema"]["properties"]["older_than"]
    assert described == {"type": "string", "description": "gc: ended longer ago (default 30d; 0s: all)"}
    assert reader.read("process", {"action": "gc", "older_than": "0s"})[1]["older_than"] == "0s"


def test_a_client_that_validates_lets_aliases_through(tools: dict[str, dict[str, Any]]) -> None:
    for tool in tools.values():
        assert "additionalProperties" not in tool["inputSchema"]


def test_arguments_that_are_not_listed_are_accepted(tools: dict[str, dict[str, Any]], reader: Tools) -> None:
    properties = tools["process"]["inputSchema"]["properties"]
    unlisted: dict[str, dict[str, Any]] = {
        "create": {"command": "true", "pty": True, "notify_command": "cat"},
        "restart": {"job_id": "x", "yield_ms": 5},
        "gc": {"dry_run": True, "max_jobs": 3},
        "send-keys": {"job_id": "x", "hex": ["1b"]},
        "list": {"owner": "me"},
        "poll": {"sessionId": "x", "sinceSeq": 1},
    }
    for name, given in unlisted.items():
        assert set(given) - {"job_id"} - set(properties), name
        assert reader.read("process", {"action": name, **given})[0] is reader.process[name]


def test_what_exec_lists_is_listed_again_only_where_no_job_is_started() -> None:
    run, found = verbs.load("run"), process_verbs()
    shared = {arg.mcp for arg in listed(found["create"], config.load({}))}
    with_exec = _properties(listing.of_actions(found, run, config.load({})))
    alone = _properties(listing.of_actions(found, None, config.load({})))
    assert shared <= alone.keys()
    assert not {"command", "workdir", "pty", "timeout", "title", "yield_ms", "background"} & with_exec.keys()
    assert with_exec["watch"]["description"] == "notify_set: as in exec"


def test_what_another_tool_lists_is_not_said_again(tools: dict[str, dict[str, Any]]) -> None:
    """Alone, the tool says all of it."""
    assert (
        tools["process"]["inputSchema"]["properties"]["until"]["description"]
        == "wait: as in exec (default exit, input)"
    )
    alone = _properties(listing.of_actions(process_verbs(), None, config.load({})))["until"]["description"]
    assert "; wait: answer when one holds: exit, " in alone and alone.endswith(" (default exit, input)")


def test_an_argument_that_is_not_listed_is_hinted(reader: Tools) -> None:
    with pytest.raises(OutliveError) as raised:
        reader.read("process", {"action": "kill", "job_id": "x", "grac_ms": 3})
    assert raised.value.hint == "Did you mean grace_ms (milliseconds)?"


def test_an_argument_of_a_section_that_is_not_configured_is_accepted_but_not_listed() -> None:
    args = (Arg("plain", STR, "Anything."), Arg("caged", BOOL, "In the cage.", section="shell"))
    verb = Verb("run", "Run.", args=args)
    assert list(_properties(listing.of_verb(verb, config.load({})))) == ["plain"]
    configured = config.load({"OUTLIVE_SHELL_UNIX": "bash -c"})
    assert list(_properties(listing.of_verb(verb, configured))) == ["plain", "caged"]
    assert [arg.name for arg in accepted(verb)] == ["plain", "caged"]


def test_the_sandbox_is_not_offered_where_there_is_none(tools: dict[str, dict[str, Any]], reader: Tools) -> None:
    assert "elevated" not in tools["exec"]["inputSchema"]["properties"]
    assert reader.read("exec", {"command": "true", "elevated": True})[1]["elevated"] is True


def test_a_default_is_in_the_description_because_clients_drop_the_keyword() -> None:
    changed = config.load({"OUTLIVE_EXEC_BACKGROUND_MS": "2500"})
    properties = _properties(listing.of_verb(verbs.load("run"), changed))
    assert properties["yield_ms"]["description"].endswith("(default 2500)")
    assert "default" not in properties["yield_ms"]
