"""The transport of the SDK's server over stdin and stdout.

The SDK's own spends a thread on each line that it reads and two on each that it writes, and knows
nothing of the lines that were answered before it was there (first_answers.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

from outlive import limits
from outlive.mcp.stdio import malformed
from outlive.mcp.stdio.first_answers import FirstAnswers
from outlive.mcp.stdio.malformed import Fault
from outlive.mcp.stdio.wire import TooLong, Wire

Received = SessionMessage | Exception


_AT_ONCE = 128  # requests that are worked on or whose answers are not written yet
_LISTEN = "subscriptions/listen"  # is answered when the client ends it
_CANCELLED = "notifications/cancelled"


@asynccontextmanager
async def streams(
    wire: Wire, front: FirstAnswers, answers: Answers
) -> AsyncIterator[tuple[MemoryObjectReceiveStream[Received], MemoryObjectSendStream[SessionMessage]]]:
    """Yield the streams that the SDK's server reads messages from and writes them to. It first gets `front.replay`,
    whose requests are answered already. `answers` takes note of each answer that is written."""
    received_to, received = anyio.create_memory_object_stream["Received"]()
    sent, sent_from = anyio.create_memory_object_stream[SessionMessage]()
    requests = _Requests()
    async with anyio.create_task_group() as group:
        group.start_soon(_Reader(wire, requests, received_to, sent.clone()).read, front.replay)
        group.start_soon(_write, wire, front.repeated, sent_from, answers, requests)
        yield received, sent


class _Requests:
    """The requests that the SDK has and whose answers are not written yet, by id. The SDK would take any number of
    them: a client that sends ten thousand and reads no answer would cost half a gigabyte."""

    def __init__(self) -> None:
        self._room = anyio.Semaphore(_AT_ONCE)
        self._open: Counter[str] = Counter()
        self._listening: Counter[str] = Counter()  # these are answered when the client ends them

    async def begin(self, number: int | str) -> None:
        """Wait until there is room for a request, and count it."""
        await self._room.acquire()
        self._open[str(number)] += 1

    def listen(self, number: int | str) -> bool:
        """Count a subscription, and return whether there is room for it."""
        if self._listening.total() >= limits.FOLLOWED_RESOURCES:
            return False
        self._listening[str(number)] += 1
        return True

    def end(self, number: object) -> None:
        """Take note that a request is answered, or is cancelled and will not be."""
        key = str(number)  # a client may cancel request 7 as "7", or one that was never made
        if self._open[key]:
            self._room.release()
        for counted in (self._open, self._listening):
            counted[key] -= 1
            if counted[key] <= 0:
                del counted[key]


class _Reader:
    """Hands over what the client sends, in order. What comes behind a request for which there is no room stays in the
    pipe, a cancellation too."""

    def __init__(
        self,
        wire: Wire,
        requests: _Requests,
        to: MemoryObjectSendStream[Received],
        answers: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        """`answers` takes those to what is not handed over."""
        self._wire = wire
        self._requests = requests
        self._to = to
        self._answers = answers

    async def read(self, replay: list[bytes]) -> None:
        wire = self._wire
        async with self._to, self._answers:
            wire.lines[:0] = replay
            while True:
                lines, wire.lines = wire.lines, []
                for line in lines:
                    await self._take(line)
                if wire.ended:
                    return
                if not wire.can_read():
                    await anyio.wait_readable(wire.incoming)
                wire.read()

    async def _take(self, line: bytes) -> None:
        message = message_of(line)
        wrong = _fault(message, line)
        if wrong is not None:
            await self._refuse(wrong)
        elif message is not None:
            await self._send(message)

    async def _send(self, message: SessionMessage) -> None:
        sent = message.message
        if isinstance(sent, JSONRPCRequest):
            if sent.method != _LISTEN:
                await self._requests.begin(sent.id)
            elif not self._requests.listen(sent.id):
                said = f"{limits.FOLLOWED_RESOURCES} subscriptions are open already: end one first."
                await self._refuse(Fault(sent.id, INTERNAL_ERROR, said))
                return
        await self._to.send(message)
        if isinstance(sent, JSONRPCNotification) and sent.method == _CANCELLED:
            cancelled = (sent.params or {}).get("requestId")
            if cancelled is not None:
                self._requests.end(cancelled)

    async def _refuse(self, fault: Fault) -> None:
        """Answer with an error what is not handed over."""
        error = JSONRPCError(jsonrpc="2.0", id=fault.number, error=ErrorData(code=fault.code, message=fault.message))
        await self._answers.send(SessionMessage(error))


def _fault(message: SessionMessage | None, line: bytes) -> Fault | None:
    """Return what is wrong with a line that is no message; None if nothing is or no answer is due."""
    if message is not None:
        sent = message.message
        stray = isinstance(sent, JSONRPCNotification) and not sent.method.startswith(malformed.NOTIFICATIONS)
        return malformed.NO_ID if stray else None
    content, wrong = malformed.judged(line)
    return wrong or (malformed.unread(content) if isinstance(content, dict) else None)


def message_of(line: bytes) -> SessionMessage | None:
    """Return None for what is no JSON, or no message."""
    if isinstance(line, TooLong):
        return None
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line.decode("utf-8", "replace"), by_name=False))
    except ValueError:
        return None


def line_of(sent: SessionMessage) -> bytes:
    return sent.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


class Answers(Protocol):
    """Takes note of the answers to requests, by their ids."""

    def before_whole(self, request: int | str) -> Callable[[], None] | None:
        """Return what is to be called when all of the answer but its last byte has been written; None: nothing is."""

    def sent(self, request: int | str) -> None:
        """Take note that the whole answer has been written."""


async def _write_all(wire: Wire, rest: memoryview) -> None:
    while rest:
        rest = rest[wire.write_some(rest) :]
        if rest:
            await anyio.wait_writable(wire.outgoing)


async def _write(
    wire: Wire,
    repeated: list[int | str],
    of: MemoryObjectReceiveStream[SessionMessage],
    answers: Answers,
    requests: _Requests,
) -> None:
    async with of:
        async for one in of:
            number = one.message.id if isinstance(one.message, (JSONRPCResponse, JSONRPCError)) else None
            if number in repeated:
                repeated.remove(number)
                requests.end(number)
                continue
            line = memoryview(line_of(one))
            answered = one.message.id if isinstance(one.message, JSONRPCResponse) else None
            note = None if answered is None else answers.before_whole(answered)
            if note is not None:  # a client that has the whole line may end this process at once
                await _write_all(wire, line[:-1])
                note()
                line = line[-1:]
            await _write_all(wire, line)
            if answered is not None:
                answers.sent(answered)
            if number is not None:
                requests.end(number)
