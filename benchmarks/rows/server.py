"""How soon a server can be used."""

from __future__ import annotations

import sys

from benchmarks import peers
from benchmarks.bench import Bench
from benchmarks.line import Line
from benchmarks.rows import row
from benchmarks.samples import Found, compared, taken_ms

# The least that the same SDK serves: one tool that does nothing
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


def bare_server(bench: Bench) -> Line:
    script = bench.place / "bare.py"
    script.write_text(_BARE, encoding="utf-8")
    return Line([sys.executable, str(script)], env=bench.env, cwd=bench.work)


@row("server-start", "a server: from spawn to the answer of `tools/list`", floor="a bare server of the SDK", ratio=1.15)
def server_start(bench: Bench) -> Found:
    def used(line: Line) -> float:
        def start() -> None:
            line.__enter__()
            line.shake_hands()
            assert line.request("tools/list")["tools"]

        took = taken_ms(start)
        line.__exit__()
        return took

    def ours() -> float:
        return used(Line([*bench.command, "mcp"], env=bench.env, cwd=bench.work))

    works = {"ours": ours, "floor": lambda: used(bare_server(bench))}
    for peer in peers.installed(bench):
        works[peer.name] = lambda peer=peer: used(peer.line(bench))  # type: ignore[misc]
    return compared(works, bench.rounds(15))


@row(
    "call",
    "the shortest answer of a warm server: `process list` of nothing",
    floor="a tool that does nothing, bare SDK",
)
def call(bench: Bench) -> Found:
    """What the SDK and the pipe cost, and what our face adds to it."""
    with bench.server() as line, bare_server(bench) as bare:
        bare.shake_hands()
        works = {
            "ours": lambda: taken_ms(lambda: line.call("process", action="list", state="created")),
            "floor": lambda: taken_ms(lambda: bare.call("nothing")),
        }
        return compared(works, bench.rounds(200))
