"""The transport of the SDK's server over stdin and stdout.

The SDK's own spends a thread on each line that it reads and two on each that it writes, and knows
nothing of the lines that were answered before it was there (first_answers.py).
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter

from outlive.mcp.json_safe import decodable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from outlive.mcp.first_answers import FirstAnswers
    from outlive.mcp.wire import Wire

    Received = SessionMessage | Exception


@asynccontextmanager
async def streams(
    wire: Wire, front: FirstAnswers, sent_answer: Callable[[int | str], None]
) -> AsyncIterator[tuple[MemoryObjectReceiveStream[Received], MemoryObjectSendStream[SessionMessage]]]:
    """Yield the streams that the SDK's server reads messages from and writes them to.

    The server first gets `front.replay`, whose requests are answered already. `sent_answer` is
    called with the id of each request whose answer has been written.
    """
    received_to, received = anyio.create_memory_object_stream["Received"]()
    sent, sent_from = anyio.create_memory_object_stream[SessionMessage]()
    async with anyio.create_task_group() as group:
        group.start_soon(_read, wire, front.replay, received_to)
        group.start_soon(_write, wire, front.repeated, sent_from, sent_answer)
        yield received, sent


async def _read(wire: Wire, replay: list[bytes], to: MemoryObjectSendStream[Received]) -> None:
    async with to:
        wire.lines[:0] = replay
        while True:
            lines, wire.lines = wire.lines, []
            for line in lines:
                await to.send(message_of(line))
            if wire.ended:
                return
            if not wire.can_read():
                await anyio.wait_readable(wire.incoming)
            wire.read()


def message_of(line: bytes) -> Received:
    try:
        text = decodable(line).decode("utf-8", "replace")
        return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValueError as error:  # no JSON, or no message: the SDK drops it
        return error


def line_of(sent: SessionMessage) -> bytes:
    return sent.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


async def _write(
    wire: Wire,
    repeated: list[int | str],
    of: MemoryObjectReceiveStream[SessionMessage],
    sent_answer: Callable[[int | str], None],
) -> None:
    async with of:
        async for one in of:
            if isinstance(one.message, (JSONRPCResponse, JSONRPCError)) and one.message.id in repeated:
                repeated.remove(one.message.id)
                continue
            rest = memoryview(line_of(one))
            while rest:
                rest = rest[wire.write_some(rest) :]
                if rest:
                    await anyio.wait_writable(wire.outgoing)
            if isinstance(one.message, JSONRPCResponse):
                sent_answer(one.message.id)
