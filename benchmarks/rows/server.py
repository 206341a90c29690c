"""Measure how soon a server can be used."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator

from benchmarks import peers
from benchmarks.bench import Bench
from benchmarks.client import Client
from benchmarks.rows import row
from benchmarks.samples import Found, Work, compared, taken_ms

_QUIET_S = 0.3  # a model does not call at once; the fork server starts meanwhile
# The smallest server of the same SDK: one tool that does nothing
_BARE = """
import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def list_tools(ctx, params):
    schema = {"type": "object", "properties": {}}
    return types.ListToolsResult(tools=[types.Tool(name="nothing", description="Nothing.", input_schema=schema)])

async def call_tool(ctx, params):
    return types.CallToolResult(content=[types.TextContent(text="")], structured_content={"ok": True})

async def main():
    server = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""


def bare_server(bench: Bench) -> Client:
    script = bench.place / "bare.py"
    script.write_text(_BARE, encoding="utf-8")
    return Client([sys.executable, str(script)], env=bench.env, cwd=bench.work)


def _ready_ms(client: Client) -> float:
    """Start a server and ask for its tools; its end does not count."""

    def start() -> None:
        client.__enter__()
        client.shake_hands()
        assert client.request("tools/list")["tools"]

    took = taken_ms(start)
    client.__exit__()
    return took


def start_once(bench: Bench) -> Work:
    return lambda: _ready_ms(Client([*bench.command, "mcp"], env=bench.env, cwd=bench.work))


@row("server-start", "a server: from spawn to the answer of `tools/list`", floor="a bare server of the SDK", most=60)
def server_start(bench: Bench) -> Found:
    works = {"ours": start_once(bench), "floor": lambda: _ready_ms(bare_server(bench))}
    for peer in peers.installed(bench):
        works[peer.name] = lambda peer=peer: _ready_ms(peer.server(bench))  # type: ignore[misc]
    return compared(works, bench.rounds(15))


@row(
    "first-call",
    "the first call of a server, `exec` of `true`, once its tools are listed",
    floor="a bare server of the SDK, from spawn to its first call",
)
def first_call(bench: Bench) -> Found:
    """Measure what was put off until a call is made: outlive imports the SDK only then."""
    works: dict[str, Work] = {"ours": first_call_once(bench), "floor": lambda: _called_ms(bare_server(bench))}
    return compared(works, bench.rounds(15))


def first_call_once(bench: Bench) -> Work:
    return lambda: _first_call_ms(bench)


def _first_call_ms(bench: Bench) -> float:
    with Client([*bench.command, "mcp"], env=bench.env, cwd=bench.work) as client:
        client.shake_hands()
        client.request("tools/list")
        time.sleep(_QUIET_S)
        return taken_ms(lambda: client.call("exec", command="true"))


def _called_ms(client: Client) -> float:
    def call() -> None:
        client.__enter__()
        client.shake_hands()
        client.call("nothing")

    took = taken_ms(call)
    client.__exit__()
    return took


@contextlib.contextmanager
def call_once(bench: Bench) -> Iterator[Work]:
    with bench.server() as client:
        yield lambda: taken_ms(lambda: client.call("process", action="list", state="created"))


@row(
    "call",
    "the shortest answer of a warm server: `process list` of nothing",
    floor="a tool that does nothing, bare SDK",
)
def call(bench: Bench) -> Found:
    """Measure what the SDK and the pipe cost, and what outlive adds to it."""
    with call_once(bench) as ours, bare_server(bench) as bare:
        bare.shake_hands()
        return compared({"ours": ours, "floor": lambda: taken_ms(lambda: bare.call("nothing"))}, bench.rounds(200))
