"""Subscriptions in one process, where limits and mistakes can be made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from mcp import Client, MCPError, types

from outlive import limits
from outlive.mcp.tools.call import Calls
from outlive.parts.push import follow
from support.calls import BOUND_S, server_of
from support.cli import Cli


@pytest.fixture
def job(cli: Cli) -> Iterator[str]:
    found: str = cli.ok("run", "--snapshot-after", "0", "sleep 1000")["job_id"]
    yield found
    cli.ok("remove", found)


def _subscribe(uri: str) -> Any:
    return types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))


def _with_client(calls: Calls, era: str, talk: Any) -> None:
    async def run() -> None:
        with anyio.fail_after(BOUND_S):
            async with Client(server_of(calls), mode=era) as client:
                await talk(client)

    anyio.run(run)


def test_more_resources_than_can_be_watched_are_refused(
    calls: Calls, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FOLLOWED_RESOURCES", 1)

    async def legacy(client: Any) -> None:
        await client.session.send_request(_subscribe(f"job://{job}"), types.EmptyResult)
        await client.session.send_request(_subscribe(f"job://{job}"), types.EmptyResult)
        with pytest.raises(MCPError) as caught:
            await client.session.send_request(_subscribe(f"job://{job}/output"), types.EmptyResult)
        assert caught.value.code == types.INTERNAL_ERROR

    async def modern(client: Any) -> None:
        with pytest.raises(MCPError) as caught:
            async with client.listen(resource_subscriptions=[f"job://{job}", f"job://{job}/output"]):
                pytest.fail("two resources are followed")
        assert caught.value.code == types.INTERNAL_ERROR
        async with client.listen(resource_subscriptions=[f"job://{job}"]) as stream:  # what it held was given back
            assert stream.honored.resource_subscriptions == [f"job://{job}"]

    _with_client(calls, "legacy", legacy)
    _with_client(calls, "auto", modern)


def test_a_job_that_is_over_takes_no_room(calls: Calls, job: str, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FOLLOWED_RESOURCES", 1)
    over = cli.ok("run", "true")["job_id"]

    async def talk(client: Any) -> None:
        await client.session.send_request(_subscribe(f"job://{over}"), types.EmptyResult)
        while True:
            try:
                await client.session.send_request(_subscribe(f"job://{job}"), types.EmptyResult)
                return
            except MCPError:  # its last update is under way
                await anyio.lowlevel.checkpoint()

    _with_client(calls, "legacy", talk)


@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_a_mistake_while_a_job_is_followed_ends_the_following_and_not_the_server(
    calls: Calls, job: str, era: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("the wire is made of cheese")

    monkeypatch.setattr(follow, "changes", broken)

    async def talk(client: Any) -> None:
        if era == "legacy":
            await client.session.send_request(_subscribe(f"job://{job}"), types.EmptyResult)
        else:
            async with client.listen(resource_subscriptions=[f"job://{job}"]):
                pass
        assert (await client.read_resource(f"job://{job}")).contents

    _with_client(calls, era, talk)
    assert "made of cheese" in capsys.readouterr().err
