"""When the answer to a request over HTTP has been written: not before does its client know what it tells."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from urllib.parse import parse_qs

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from outlive import limits
from outlive.mcp.caller import DELIVERY
from outlive.parts.http.connections import IS_LOST, UNSENT, call

Then = Callable[[bool], None]  # takes whether the answer was written

_SESSION = re.compile(rb"session_id=([0-9a-f]+)")
_LOOK_S = 0.05


class Posts:
    """ASGI application that receives the body of each POST whole, and learns when its answer has been written."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        delivery = _OfAnswer()

        async def noted(message: Message) -> None:
            is_last = message["type"] == "http.response.body" and not message.get("more_body", False)
            was_lost = is_last and call(scope, IS_LOST)
            await send(message)
            if is_last:
                delivery.over(written=not was_lost and await _is_drained(scope))

        try:
            await self._app(with_delivery(scope, delivery), _whole(receive), noted)
        finally:
            delivery.over(written=False)


def _whole(receive: Receive) -> Receive:
    """Return a function that receives each body whole. A body that is too long comes as it is, to be refused."""
    ahead: list[Message] = []

    async def next_message() -> Message:
        if not ahead:
            ahead.extend(await _body(receive))
        return ahead.pop(0)

    return next_message


async def _body(receive: Receive) -> list[Message]:
    """Return the messages of the rest of a body: one, unless the body is too long or breaks off."""
    messages: list[Message] = []
    size = 0
    while True:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        if message["type"] != "http.request" or size > limits.HTTP_BODY_BYTES:
            return messages
        if not message.get("more_body", False):
            body = b"".join(part.get("body", b"") for part in messages)
            return [{"type": "http.request", "body": body, "more_body": False}]


def with_delivery(scope: Scope, delivery: object) -> Scope:
    return {**scope, "state": {**scope["state"], DELIVERY: delivery}}


async def _is_drained(scope: Scope) -> bool:
    """Wait until the kernel has taken the answer, and return whether it has."""
    with anyio.move_on_after(limits.HTTP_SEND_S):
        waited = False
        while call(scope, UNSENT) and not call(scope, IS_LOST):
            waited = True
            await anyio.sleep(_LOOK_S)
        return not (waited and call(scope, IS_LOST))
    return False


class _OfAnswer:
    """The delivery of the one answer to a POST."""

    def __init__(self) -> None:
        self._waiting: list[Then] = []
        self._is_over = False

    def when_over(self, _request_id: object, then: Then) -> None:
        """Call `then` once the answer to this request has been written, or never will be."""
        if self._is_over:  # the client has gone, and the call went on
            then(False)
        else:
            self._waiting.append(then)

    def over(self, *, written: bool) -> None:
        self._is_over = True
        waiting, self._waiting = self._waiting, []
        for then in waiting:
            then(written)


class OfStream:
    """The deliveries of one stream of protocol 2024-11-05, on which all answers of a session come. `send` is the ASGI
    function that it is written with; `streams` are all of them, by session."""

    def __init__(self, send: Send, streams: dict[str, OfStream]) -> None:
        self._send = send
        self._streams = streams
        self._session: str | None = None
        self._waiting: dict[object, Then] = {}

    def when_over(self, request_id: object, then: Then) -> None:
        self._waiting[request_id] = then

    async def send(self, message: Message) -> None:
        await self._send(message)
        chunk: bytes = message.get("body", b"")
        if self._session is None:  # the first event says where to post
            named = _SESSION.search(chunk)
            if named is not None:
                self._session = named[1].decode()
                self._streams[self._session] = self
        if self._waiting:
            for line in chunk.split(b"\r\n"):
                if line.startswith(b"data: {"):
                    self._written(json.loads(line.removeprefix(b"data: ")))

    def _written(self, message: Mapping[str, object]) -> None:
        if "method" not in message:
            then = self._waiting.pop(message.get("id"), None)
            if then is not None:
                then(True)

    def end(self) -> None:
        if self._session is not None:
            self._streams.pop(self._session, None)
        waiting, self._waiting = self._waiting, {}
        for then in waiting.values():
            then(False)


def with_stream(scope: Scope, streams: Mapping[str, OfStream]) -> Scope:
    """Return the scope of a POST with the delivery of the stream that its answer comes on."""
    (session,) = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("session_id", [""])[:1]
    stream = streams.get(session)
    return scope if stream is None else with_delivery(scope, stream)
