"""Bodies of requests in a form that the SDK can decode (json_safe.py)."""

from __future__ import annotations

from starlette.types import Message, Receive

from outlive import limits
from outlive.mcp.json_safe import decodable


def whole(receive: Receive) -> Receive:
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
            return [{"type": "http.request", "body": decodable(body), "more_body": False}]
