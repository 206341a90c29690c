"""What a part may add to a server: the hooks of an extension, in the order in which a call meets them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from mcp import Client, types

from outlive import parts
from outlive.mcp.extension import Answer, Call, Extension, Go, Instead
from outlive.mcp.tools.call import Around, Calls
from outlive.part import Part
from support.calls import BOUND_S, server_of

RESULT = types.CallToolResult(content=[types.TextContent(text="in place of it")], is_error=True)
noted: list[object] = []


class Outer(Extension):
    async def run(self, call: Call, around: Around, go: Go) -> Answer | Instead:
        noted.append(f"outer {call.params.name}")
        ran = await go(around)
        noted.append("outer has " + ("another result" if isinstance(ran, Instead) else f"ok {ran['ok']}"))
        return ran

    def answered(self, call: Call, answer: Answer) -> None:
        noted.append(f"answered ok {answer['ok']}")


class Inner(Extension):
    async def run(self, call: Call, around: Around, go: Go) -> Answer | Instead:
        noted.append("inner")
        if (call.params.arguments or {}).get("action") == "help":
            return Instead(RESULT, lambda written: noted.append(f"written {written}"))
        return await go(around.changed(begun=lambda verb, ctx, args: noted.append(f"begun {verb.name}")))


class OuterPart(Part):
    name = "outer"
    extension = f"{__name__}:Outer"


class InnerPart(Part):
    name = "inner"
    extension = f"{__name__}:Inner"


@pytest.fixture(autouse=True)
def _two_parts_more(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    found = (OuterPart(), InnerPart(), *parts.every())
    monkeypatch.setattr(parts, "every", lambda: found)
    yield
    noted.clear()


def _called(calls: Calls, **given: Any) -> Any:
    async def run() -> Any:
        with anyio.fail_after(BOUND_S):
            async with Client(server_of(calls)) as client:
                return await client.call_tool("process", given)

    return anyio.run(run)


def test_a_call_meets_the_hooks_in_the_order_of_the_parts(calls: Calls) -> None:
    assert not _called(calls, action="list").is_error
    assert noted == ["outer process", "inner", "begun list", "outer has ok True", "answered ok True"]


def test_a_call_that_is_refused_has_an_answer_too(calls: Calls) -> None:
    assert _called(calls, action="no such").is_error
    assert noted == ["outer process", "inner", "outer has ok False", "answered ok False"]


def test_a_result_in_place_of_an_answer_is_sent_as_it_is(calls: Calls) -> None:
    (content,) = _called(calls, action="help").content
    assert content.text == "in place of it"
    assert noted[:3] == ["outer process", "inner", "outer has another result"]
    assert not [note for note in noted if str(note).startswith("answered")]
