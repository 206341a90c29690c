"""Private parts of other packages that the server leans on: an update of a package that changes one fails here, by name."""

from __future__ import annotations

import ast
import inspect
import re
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
from mcp import types
from mcp.client.client import Client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

import outlive
from outlive.mcp import private_parts

SOURCE = Path(outlive.__file__).parent
OURS = {"self", "cls"}


def named_in(module: ModuleType) -> list[str]:
    """Return the names of the tests that the comments of a module name, each once."""
    named = re.findall(r"Test:\s+(?:#\s+)?`(\w+)`", inspect.getsource(module))
    assert len(named) == len(set(named))
    return named


def test_each_part_names_a_test_that_is_here() -> None:
    (name,) = named_in(private_parts)
    assert callable(globals().get(name))


def test_no_other_module_of_the_server_touches_a_private_name_of_another_package() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}: {ast.unparse(node)}"
        for path in (SOURCE / "mcp").rglob("*.py")
        if path.name != "private_parts.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and re.match("_[a-z]", node.attr) and not _is_ours(node.value)
    ]
    assert not found


def _is_ours(owner: ast.expr) -> bool:
    name = ast.unparse(owner)
    return name in OURS or name in ("super()", "os")  # os._exit is documented


def test_the_sdk_tells_a_cancelled_request_from_a_connection_that_ended() -> None:
    found: list[bool] = []
    begun = anyio.Event()

    async def prompts(
        ctx: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            found.append(private_parts.is_cancelled(ctx))
        raise AssertionError

    async def ask(client: Client, scope: anyio.CancelScope) -> None:
        with scope:
            await client.list_prompts()

    async def connect(*, cancels: bool) -> None:
        nonlocal begun
        begun = anyio.Event()
        asking = anyio.CancelScope()
        with anyio.CancelScope() as whole:
            server = Server("test", on_list_prompts=prompts)
            async with Client(server, mode="legacy") as client, anyio.create_task_group() as group:
                group.start_soon(ask, client, asking)
                await begun.wait()
                (asking if cancels else whole).cancel()

    anyio.run(partial(connect, cancels=True))
    anyio.run(partial(connect, cancels=False))
    assert found == [True, False]
