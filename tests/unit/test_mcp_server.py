"""The server as a client sees it, with verbs that start nothing."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from mcp import Client, types

from outlive import config, verbs
from outlive.jobs.conditions import parse
from outlive.mcp import instructions, private_parts, server
from outlive.mcp.tools.call import Calls, Tools
from outlive.mcp.tools.offer import process_verbs
from outlive.system import shells
from outlive.verbs.spec import INT
from support.mcp_fakes import ID, OPEN, Recorder, fake_server, tools

ERAS = ("legacy", "auto")  # the initialize handshake; 2026-07-28 with an envelope in each request
BOUND_S = 20


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


def with_client(fake: Any, era: str, talk: Any, name: str = "agent") -> Any:
    async def run() -> Any:
        with anyio.fail_after(BOUND_S):
            info = types.Implementation(name=name, version="1")
            async with Client(fake, mode=era, client_info=info) as client:
                return await talk(client)

    return anyio.run(run)


def call(
    place: Path, era: str, tool: str, arguments: dict[str, Any], calls: Recorder | None = None, **options: Any
) -> Any:
    fake = fake_server(calls or Recorder(), str(place / "jobs"), **options)
    return with_client(fake, era, lambda client: client.call_tool(tool, arguments))


def text_of(result: Any) -> str:
    (content,) = result.content
    return str(content.text)


def test_an_answer_that_crosses_its_cancellation_counts_as_not_sent(
    place: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK drops the answer to a request that was cancelled while its handler returned."""
    told: list[bool] = []
    monkeypatch.setattr(Calls, "notices", lambda *_: ([], told.append))
    monkeypatch.setattr(private_parts, "is_cancelled", lambda _: True)
    call(place, era, "exec", {"command": "echo hello"})
    assert told == [False]


def test_a_call_that_starts_nothing_looks_for_no_shell(place: Path, era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    calls = Recorder()
    fake = fake_server(calls, str(place / "jobs"))

    def runs(folder: str) -> bool:
        looked.append(folder)
        return True

    monkeypatch.setattr(shells, "_runs", runs)

    async def talk(client: Any) -> Any:
        await client.list_tools()  # names the shell to the model
        looked.clear()
        await client.call_tool("process", {"action": "poll", "job_id": "x"})

    with_client(fake, era, talk)
    assert looked == []
    assert calls.ctx is not None
    assert calls.ctx.shell == ("bash", "-c") == calls.ctx.shell
    assert len(looked) == 1, "it is looked for once"


@pytest.mark.fault("S24")
def test_a_mistake_of_ours_is_an_answer_and_the_server_lives(place: Path, era: str, capsys: Any) -> None:
    async def talk(client: Any) -> Any:
        broken = await client.call_tool("process", {"action": "clear", "job_id": "x"})
        good = await client.call_tool("exec", {"command": "true"})
        return broken, good

    broken, good = with_client(fake_server(Recorder(), str(place / "jobs")), era, talk)
    assert broken.is_error
    assert broken.structured_content["error"]["code"] == "internal_error"
    assert "made of cheese" in text_of(broken)
    assert "Traceback" in capsys.readouterr().err
    assert not good.is_error


def test_a_mistake_after_the_start_names_the_job(
    place: Path, era: str, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Recorder()
    monkeypatch.setattr(calls, "at_once", calls.fails_late)
    found = call(place, era, "exec", {"command": "true"}, calls)
    assert found.structured_content["error"]["details"] == {"job_id": ID}
    assert ID in text_of(found)
    assert "after the start" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("woken", "advised"),
    [
        ({}, True),
        ({"fired": {"condition": "port", "port": 80, "owned": True, "pid": 5}}, False),
        ({"waited_ms": 7}, False),
    ],
)
def test_a_clamped_wait_says_so_and_is_told_to_call_again_unless_it_was_woken(
    place: Path, era: str, woken: dict[str, Any], advised: bool
) -> None:
    calls = Recorder()
    calls.answer = {"job_id": ID, "state": "running", "output": "", **woken}
    found = call(place, era, "process", {"action": "poll", "job_id": "x", "timeout_ms": 90_000}, calls)
    assert (found.structured_content["requested_ms"], found.structured_content["effective_ms"]) == (90_000, 50_000)
    assert ("at most 50 s" in text_of(found)) is advised


# --- what is offered -----------------------------------------------------------------------------------------------


def test_what_is_offered_is_small_and_portable() -> None:
    """With the real verbs: every conversation pays for this."""
    real = Tools(
        verbs.load("run"), process_verbs(), ("exec", "process"), config.load({"XDG_CONFIG_HOME": "/nonexistent"})
    )
    listed = server.tool_list(real, config.load({"XDG_CONFIG_HOME": "/nonexistent"}))
    wire = json.dumps([tool.model_dump(by_alias=True, exclude_none=True) for tool in listed], separators=(",", ":"))
    assert [tool.name for tool in listed] == ["exec", "process"]
    assert "$ref" not in wire
    assert "CLI" not in wire
    for tool in listed:
        for schema in (tool.input_schema, tool.output_schema):
            assert schema is not None
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
            assert not schema.keys() & {"oneOf", "anyOf", "allOf"}
        assert tool.annotations is not None
        assert (tool.annotations.destructive_hint, tool.annotations.read_only_hint) == (True, False)


def test_every_real_verb_can_be_read() -> None:
    real = Tools(
        verbs.load("run"), process_verbs(), ("exec", "process"), config.load({"XDG_CONFIG_HOME": "/nonexistent"})
    )
    for name, verb in real.process.items():
        given = {arg.mcp: 80 if arg.kind == INT else "x" for arg in verb.args if arg.required and arg.mcp}
        read, args = real.read("process", {"action": name, **given})
        assert read is verb
        assert args.pop("detail") == "brief"
        inspect.signature(verb.run).bind(None, **args)
    verb, args = real.read("exec", {"command": "true"})
    assert args.pop("detail") == "brief"
    inspect.signature(verb.run).bind(None, **args)


def test_instructions_and_descriptions_stay_below_what_clients_cut(place: Path, era: str) -> None:
    async def talk(client: Any) -> Any:
        return client.instructions, (await client.list_tools()).tools

    for offers in (("exec", "process"), ("exec",)):
        fake = fake_server(Recorder(), str(place / "jobs"), offers=offers)
        instructions, listed = with_client(fake, era, talk)
        assert len("".join([instructions, *(tool.description for tool in listed)]).encode()) < 2_048


def test_the_conditions_that_the_instructions_show_are_some() -> None:
    shown, _ = json.JSONDecoder().raw_decode(instructions.INSTRUCTIONS.partition("until=")[2])
    assert [condition.name for condition in parse.parsed(shown)] == ["port", "fail_regex"]


def test_no_prompts_are_offered_so_that_a_client_makes_no_tools_of_them(place: Path, era: str) -> None:
    async def talk(client: Any) -> Any:
        return client.server_capabilities

    assert with_client(fake_server(Recorder(), str(place / "jobs")), era, talk).prompts is None


def test_the_list_of_tools_is_private_because_it_depends_on_client_and_configuration(place: Path) -> None:
    fake = fake_server(Recorder(), str(place / "jobs"))
    assert with_client(fake, "2026-07-28", lambda client: client.list_tools()).cache_scope == "private"


def test_schemas_say_what_is_required_and_what_is_the_default() -> None:
    exec_tool, process_tool = server.tool_list(tools(Recorder()), config.load({"XDG_CONFIG_HOME": "/nonexistent"}))
    assert exec_tool.input_schema["required"] == ["command"]
    properties = exec_tool.input_schema["properties"]
    assert properties["timeout"] == {"type": "number", "description": "End it after so long (default 1800)"}
    assert properties["stdin"]["enum"] == ["open", "closed"]
    assert "wait" not in properties
    properties = process_tool.input_schema["properties"]
    assert properties["action"]["enum"][:2] == ["poll", "log"]
    assert "tag_set" in properties["action"]["enum"]
    assert properties["tail_lines"]["description"].startswith("tail: Lines")
    assert properties["since_seq"]["description"].startswith("poll: ")
    assert properties["max_bytes"]["description"] == "poll: as in exec"
