"""Ask servers for their tools, as a client of the SDK."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence

import anyio
from mcp.client.client import Client as Session
from mcp.client.stdio import StdioServerParameters, stdio_client

from outlive.parts.clients.registry import Start

LIMIT_S = 30  # a busy machine needs 3
_SHOWN = 300


def tools(starts: Sequence[Start], cwd: str | None) -> dict[Start, list[str] | str]:
    """Start all of these servers at once; return for each the names of its tools, or what went wrong."""
    answers: dict[Start, list[str] | str] = {}

    async def ask(start: Start) -> None:
        answers[start] = await _asked(start, cwd)

    async def ask_all() -> None:
        async with anyio.create_task_group() as group:
            for start in set(starts):
                group.start_soon(ask, start)

    anyio.run(ask_all)
    return answers


async def _asked(start: Start, cwd: str | None) -> list[str] | str:
    how = StdioServerParameters(command=start.words[0], args=list(start.words[1:]), env=dict(start.env), cwd=cwd)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            with anyio.fail_after(LIMIT_S):
                async with Session(stdio_client(how, errlog=log)) as session:
                    return [tool.name for tool in (await session.list_tools()).tools]
        except TimeoutError:
            return f"it did not answer within {LIMIT_S} s"
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what the client would meet
            log.seek(0)
            said = log.read().strip().splitlines()
            return f"it does not answer: {(said[-1] if said else _reason(error))[:_SHOWN]}"


def _reason(error: BaseException) -> str:
    """Return the first of the errors that a task group has gathered."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
