"""The private part of the SDK that subscriptions use does what is expected of it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import anyio
from mcp import types
from mcp.client.client import Client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from heart.mcp.test_private_parts import named_in
from outlive.parts.push import private_parts as of_push


def test_the_sdk_ends_the_exit_stack_of_a_connection_with_it() -> None:
    ended: list[bool] = []

    async def prompts(
        ctx: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        stack = of_push.connection_of(ctx).exit_stack
        assert isinstance(stack, AsyncExitStack)
        stack.callback(ended.append, True)
        return types.ListPromptsResult(prompts=[])

    async def connect() -> None:
        async with Client(Server("test", on_list_prompts=prompts), mode="legacy") as client:
            await client.list_prompts()
            assert not ended

    anyio.run(connect)
    assert ended


def test_each_private_part_names_a_test_that_is_here() -> None:
    named = named_in(of_push)
    assert len(named) == 1 and not [name for name in named if not callable(globals().get(name))]
