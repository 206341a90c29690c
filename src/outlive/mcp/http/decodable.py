"""Bodies of requests in a form that the SDK can decode (json_safe.py)."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from outlive import limits
from outlive.mcp.json_safe import decodable


class Decodable:
    """Passes on each body whole. A body that is too long is passed on as it comes, to be refused."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        ahead: list[Message] = []

        async def whole() -> Message:
            if ahead:
                return ahead.pop(0)
            ahead.extend(await _body(receive))
            return ahead.pop(0)

        await self._app(scope, whole, send)


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
            return [{"type": "http.request", "body": decodable(body), "more_body": False}]
