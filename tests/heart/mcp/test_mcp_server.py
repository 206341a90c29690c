"""The server as a client of the SDK sees it, where a verb fails or a call crosses its cancellation."""

from __future__ import annotations

import contextlib
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import anyio
import jsonschema
import pytest
from mcp import Client, types

from outlive.jobs.conditions import parse
from outlive.jobs.context import Context
from outlive.mcp import introduction, private_parts
from outlive.mcp.tools import listing, offer
from outlive.mcp.tools.arguments import Tools
from outlive.mcp.tools.call import Calls
from outlive.verbs.spec import INT
from support.calls import BOUND_S, CONFIG, calls_of, server_of
from support.given import Given

ID = "01JD0000000000000000ABCDEF"


@pytest.fixture(params=("legacy", "auto"))  # the initialize handshake; 2026-07-28 with an envelope in each request
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def with_client(calls: Calls, era: str, talk: Callable[[Any], Any]) -> Any:
    async def run() -> Any:
        with anyio.fail_after(BOUND_S):
            info = types.Implementation(name="agent", version="1")
            async with Client(server_of(calls), mode=era, client_info=info) as client:
                return await talk(client)

    with contextlib.closing(calls):
        return anyio.run(run)


def call(calls: Calls, era: str, tool: str, **arguments: Any) -> Any:
    return with_client(calls, era, lambda client: client.call_tool(tool, arguments))


def answers(ctx: Context, **given: Any) -> Given:
    return Given(job_id=ID, state="exited", exit_code=0, output="hello\n")


def text_of(result: Any) -> str:
    (content,) = result.content
    return str(content.text)


def test_an_answer_that_crosses_its_cancellation_counts_as_not_sent(
    root: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK drops the answer to a request that was cancelled while its handler returned."""
    sent = Mock(notices=[])
    monkeypatch.setattr(Calls, "notices", lambda *_: sent)
    monkeypatch.setattr(private_parts, "is_cancelled", lambda _: True)
    call(calls_of(root, run=answers), era, "exec", command="echo hello")
    sent.assert_called_once_with(False)


def test_a_call_that_starts_nothing_looks_for_no_shell(root: Path, era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    seen: list[Context] = []

    def runs(folder: str) -> bool:
        looked.append(folder)
        return True

    def poll(ctx: Context, **given: Any) -> Given:
        seen.append(ctx)
        return answers(ctx)

    async def talk(client: Any) -> Any:
        await client.list_tools()  # names the shell to the model
        looked.clear()
        await client.call_tool("process", {"action": "poll", "job_id": "x"})

    monkeypatch.setattr(offer, "_has_bash", runs)
    with_client(calls_of(root, poll=poll), era, talk)
    assert looked == []
    assert seen[0].caller.shell == ("bash", "-c") == seen[0].caller.shell
    assert len(looked) == 1, "it is looked for once"


@pytest.mark.fault("S24")
def test_a_mistake_of_ours_is_an_answer_and_the_server_lives(root: Path, era: str, capsys: Any) -> None:
    def fails(ctx: Context, **given: Any) -> Given:
        raise RuntimeError("the disk is made of cheese")

    def fails_late(ctx: Context, **given: Any) -> Given:
        ctx.job_id = ID
        raise RuntimeError("after the start")

    async def talk(client: Any) -> Any:
        broken = await client.call_tool("process", {"action": "clear", "job_id": "x"})
        started = await client.call_tool("exec", {"command": "true"})
        return broken, started, await client.call_tool("process", {"action": "status", "job_id": "x"})

    broken, started, good = with_client(calls_of(root, clear=fails, run=fails_late, status=answers), era, talk)
    assert broken.is_error
    assert broken.structured_content["error"]["code"] == "internal_error"
    assert "made of cheese" in text_of(broken)
    assert started.structured_content["error"]["details"] == {"job_id": ID}
    assert ID in text_of(started)
    said = capsys.readouterr().err
    assert "Traceback" in said and "after the start" in said
    assert not good.is_error


@pytest.mark.parametrize(
    ("woken", "advised"),
    [
        ({}, True),
        ({"fired": {"condition": "port", "port": 80, "owned": True, "pid": 5}}, False),
        ({"waited_ms": 7}, False),
    ],
)
def test_a_clamped_wait_says_so_and_is_told_to_call_again_unless_it_was_woken(
    root: Path, era: str, woken: dict[str, Any], advised: bool
) -> None:
    answer = Given(**{"job_id": ID, "state": "running", "output": "", **woken})
    calls = calls_of(root, poll=lambda ctx, **given: answer)
    found = call(calls, era, "process", action="poll", job_id="x", timeout_ms=90_000)
    assert (found.structured_content["requested_ms"], found.structured_content["effective_ms"]) == (90_000, 50_000)
    assert ("at most 50 s" in text_of(found)) is advised


# --- what is offered -----------------------------------------------------------------------------------------------


REAL = Tools(("exec", "process"), CONFIG)


def test_what_is_offered_is_small_and_portable() -> None:
    """Every conversation pays for this."""
    listed = [types.Tool.model_validate(tool) for tool in listing.tools(REAL.offers, CONFIG)]
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
    for name, verb in REAL.process.items():
        given = {arg.mcp: 80 if arg.kind == INT else "x" for arg in verb.args if arg.required and arg.mcp}
        read, args = REAL.read("process", {"action": name, **given})
        assert read is verb
        assert args.pop("detail") == "brief"
        inspect.signature(verb.run).bind(None, **args)
    verb, args = REAL.read("exec", {"command": "true"})
    assert args.pop("detail") == "brief"
    inspect.signature(verb.run).bind(None, **args)


def test_instructions_and_descriptions_stay_below_what_clients_cut(root: Path, era: str) -> None:
    async def talk(client: Any) -> Any:
        return client.instructions, (await client.list_tools()).tools

    for offers in (("exec", "process"), ("exec",)):
        instructions, listed = with_client(calls_of(root, *offers), era, talk)
        assert len("".join([instructions, *(tool.description for tool in listed)]).encode()) < 2_048


def test_the_conditions_that_the_instructions_show_are_some() -> None:
    shown, _ = json.JSONDecoder().raw_decode(introduction.INSTRUCTIONS.partition("until=")[2])
    assert [condition.name for condition in parse.parsed(shown)] == ["port", "fail_regex"]


def test_the_list_of_tools_is_private_because_it_depends_on_client_and_configuration(root: Path) -> None:
    assert with_client(calls_of(root), "2026-07-28", lambda client: client.list_tools()).cache_scope == "private"
