"""The transport of the SDK's server over stdin and stdout.

The SDK's own spends a thread on each line that it reads and two on each that it writes, and knows
nothing of the lines that were answered before it was there (first_answers.py).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

from outlive import limits
from outlive.mcp.json_safe import decodable
from outlive.mcp.stdio import malformed
from outlive.mcp.stdio.first_answers import TOO_LONG, FirstAnswers, decoded, id_in
from outlive.mcp.stdio.malformed import Fault
from outlive.mcp.stdio.wire import TooLong, Wire

Received = SessionMessage | Exception


_AT_ONCE = 128  # requests that are worked on or whose answers are not written yet
_AHEAD_LINES, _AHEAD_BYTES = 1_000, 1_048_576  # of what is read while so many are
_LISTEN = "subscriptions/listen"  # is answered when the client ends it
_CANCELLED = "notifications/cancelled"


@asynccontextmanager
async def streams(
    wire: Wire, front: FirstAnswers, sent_answer: Callable[[int | str], None]
) -> AsyncIterator[tuple[MemoryObjectReceiveStream[Received], MemoryObjectSendStream[SessionMessage]]]:
    """Yield the streams that the SDK's server reads messages from and writes them to. It first gets `front.replay`,
    whose requests are answered already. `sent_answer` is called with the id of each request whose answer has been
    written."""
    received_to, received = anyio.create_memory_object_stream["Received"]()
    sent, sent_from = anyio.create_memory_object_stream[SessionMessage]()
    requests = _Requests()
    async with anyio.create_task_group() as group:
        group.start_soon(_Reader(wire, requests, received_to, sent.clone()).read, front.replay)
        group.start_soon(_write, wire, front.repeated, sent_from, sent_answer, requests)
        yield received, sent


class _Requests:
    """The requests that the SDK has and whose answers are not written yet, by id. The SDK would take any number of
    them: a client that sends ten thousand and reads no answer would cost half a gigabyte."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()
        self._listening: Counter[str] = Counter()  # these are answered when the client ends them
        self._ended = anyio.Event()

    @property
    def is_full(self) -> bool:
        return self._open.total() >= _AT_ONCE

    def begin(self, number: int | str) -> None:
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
        for counted in (self._open, self._listening):
            counted[key] -= 1
            if counted[key] <= 0:
                del counted[key]
        self._ended.set()

    async def until_one_ends(self) -> None:
        self._ended = anyio.Event()
        await self._ended.wait()


class _Reader:
    """Hands over what the client sends, in order; requests only while there is room for them.

    Meanwhile a bounded part of what follows is read, because a cancellation in it may make room, and
    so may the answer to a question of the server. Nothing else overtakes, and nothing is dropped.
    """

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
        self._ahead: deque[tuple[SessionMessage, int]] = deque()  # each with the length of its line
        self._ahead_bytes = 0
        self._asked: set[str] = set()  # the ids of the requests among them
        self._withdrawn: dict[str, SessionMessage] = {}  # the cancellations of some of these

    async def read(self, replay: list[bytes]) -> None:
        wire = self._wire
        async with self._to, self._answers:
            wire.lines[:0] = replay
            while True:
                await self._sort()
                await self._hand_over()
                if wire.ended:
                    return
                if self._ahead and not (self._reads_ahead and wire.can_read()):
                    await self._room_or_more()
                elif not wire.can_read():
                    await anyio.wait_readable(wire.incoming)
                if not self._ahead or (self._reads_ahead and wire.can_read()):
                    wire.read()

    @property
    def _reads_ahead(self) -> bool:
        return len(self._ahead) < _AHEAD_LINES and self._ahead_bytes < _AHEAD_BYTES

    async def _sort(self) -> None:
        """Put what was read behind what waits, except for what may make room."""
        lines, self._wire.lines = self._wire.lines, []
        for line in lines:
            if isinstance(line, TooLong):
                await self._refuse(id_in(line), INVALID_REQUEST, TOO_LONG)
                continue
            message = message_of(line)
            wrong = _fault(message, line)
            if wrong is not None:
                await self._refuse(*wrong)
            if wrong is not None or isinstance(message, Exception):
                continue
            number, cancelled = _asks(message), _cancels(message)
            if cancelled is not None and str(cancelled) in self._asked:
                self._withdrawn[str(cancelled)] = message
            elif cancelled is not None or _is_answer(message):
                await self._send(message)
            else:
                self._ahead.append((message, len(line)))
                self._ahead_bytes += len(line)
                self._asked |= set() if number is None else {str(number)}

    async def _hand_over(self) -> None:
        """Hand over what there is room for; everything if the client sends no more."""
        while self._ahead:
            message, size = self._ahead[0]
            number = _asks(message)
            if number is not None and self._requests.is_full and not self._wire.ended:
                return
            self._ahead.popleft()
            self._ahead_bytes -= size
            await self._send(message)
            if number is not None:
                self._asked.discard(str(number))
                if str(number) in self._withdrawn:
                    await self._send(self._withdrawn.pop(str(number)))

    async def _send(self, message: SessionMessage) -> None:
        number, cancelled, stream = _asks(message), _cancels(message), _listens(message)
        if stream is not None and not self._requests.listen(stream):
            said = f"{limits.FOLLOWED_RESOURCES} subscriptions are open already: end one first."
            await self._refuse(stream, INTERNAL_ERROR, said)
            return
        if number is not None:
            self._requests.begin(number)
        await self._to.send(message)
        if cancelled is not None:
            self._requests.end(cancelled)

    async def _refuse(self, number: int | str | None, code: int, message: str) -> None:
        """Answer with an error what is not handed over."""
        error = JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=code, message=message))
        await self._answers.send(SessionMessage(error))

    async def _room_or_more(self) -> None:
        """Wait until a request ends, or until there is more to read and room for it."""
        async with anyio.create_task_group() as group:

            async def more() -> None:
                await anyio.wait_readable(self._wire.incoming)
                group.cancel_scope.cancel()

            if self._reads_ahead:
                group.start_soon(more)
            await self._requests.until_one_ends()
            group.cancel_scope.cancel()


def _asks(message: SessionMessage) -> int | str | None:
    """Return the id of a request that is answered without another message of the client."""
    sent = message.message
    return sent.id if isinstance(sent, JSONRPCRequest) and sent.method != _LISTEN else None


def _listens(message: SessionMessage) -> int | str | None:
    """Return the id of a request for a subscription."""
    sent = message.message
    return sent.id if isinstance(sent, JSONRPCRequest) and sent.method == _LISTEN else None


def _is_answer(message: SessionMessage) -> bool:
    return isinstance(message.message, (JSONRPCResponse, JSONRPCError))


def _cancels(message: SessionMessage) -> object:
    """Return the id of the request that a message cancels, else None."""
    sent = message.message
    if not isinstance(sent, JSONRPCNotification) or sent.method != _CANCELLED:
        return None
    return (sent.params or {}).get("requestId")


def _fault(message: Received, line: bytes) -> Fault | None:
    """Return what is wrong with a line that is no message; None if nothing is or no answer is due."""
    if isinstance(message, SessionMessage):
        sent = message.message
        stray = isinstance(sent, JSONRPCNotification) and not sent.method.startswith(malformed.NOTIFICATIONS)
        return malformed.NO_ID if stray else None
    if not line.strip():
        return None
    try:
        content = decoded(line)
    except ValueError:
        return malformed.NO_JSON
    return malformed.fault(content) or (malformed.unread(content) if isinstance(content, dict) else None)


def message_of(line: bytes) -> Received:
    try:
        text = decodable(line).decode("utf-8", "replace")
        return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValueError as error:  # no JSON, or no message
        return error


def line_of(sent: SessionMessage) -> bytes:
    return sent.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


async def _write(
    wire: Wire,
    repeated: list[int | str],
    of: MemoryObjectReceiveStream[SessionMessage],
    sent_answer: Callable[[int | str], None],
    requests: _Requests,
) -> None:
    async with of:
        async for one in of:
            number = one.message.id if isinstance(one.message, (JSONRPCResponse, JSONRPCError)) else None
            if number in repeated:
                repeated.remove(number)
                requests.end(number)
                continue
            rest = memoryview(line_of(one))
            while rest:
                rest = rest[wire.write_some(rest) :]
                if rest:
                    await anyio.wait_writable(wire.outgoing)
            if isinstance(one.message, JSONRPCResponse):
                sent_answer(one.message.id)
            if number is not None:
                requests.end(number)
