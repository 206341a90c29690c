"""What is wrong with a message that is none of JSON-RPC, so that its sender is answered."""

from __future__ import annotations

import json
import re

from outlive.core.record import Value

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS = -32700, -32600, -32602  # of JSON-RPC
NOTIFICATIONS = "notifications/"  # how the method of every notification of MCP begins


class Fault(Value):
    """`number` is the id of the request, None where it has none that could be sent back."""

    number: int | str | None
    code: int
    message: str


NO_JSON = Fault(None, PARSE_ERROR, "This line is no JSON that can be read.")
NO_MESSAGE = Fault(None, INVALID_REQUEST, "This is no message of JSON-RPC 2.0.")
HALF = (
    "This message holds half a character, a \\u escape without the other half of its surrogate pair, which is not JSON; "
    "nothing was done. Send the whole character, or leave it out."
)
_ESCAPED = re.compile(rb"\\u[dD][89a-fA-F]")  # half a pair, or a half of one
NO_ID = Fault(None, INVALID_REQUEST, 'A request needs an "id", a string or a whole number; nothing was done.')


def fault(message: object, line: bytes) -> Fault | None:
    """Return what is wrong with the decoded message of a line, None if nothing is or no answer is due."""
    if isinstance(message, list):
        return Fault(None, INVALID_REQUEST, "Batches are not taken: send each message on a line of its own.")
    if not isinstance(message, dict):
        return NO_MESSAGE
    if "result" in message or "error" in message:  # an answer of the client
        return None
    number, method, params = message.get("id"), message.get("method"), message.get("params", {})
    known = number if type(number) in (int, str) else None
    if message.get("jsonrpc") != "2.0":
        return Fault(known, INVALID_REQUEST, '"jsonrpc" has to be "2.0".')
    if not isinstance(method, str):
        return Fault(known, INVALID_REQUEST, '"method" has to be a string.')
    if "id" not in message and method.startswith(NOTIFICATIONS):
        return None
    if known is None:
        return NO_ID
    if has_half(line, message):
        return Fault(None if has_half(line, known) else known, PARSE_ERROR, HALF)
    return (
        None
        if params is None or isinstance(params, dict)
        else Fault(known, INVALID_PARAMS, '"params" has to be an object.')
    )


def has_half(line: bytes, content: object) -> bool:
    """Return whether a decoded value of this line holds half a character, as JavaScript leaves it where it cuts a text."""
    if not _ESCAPED.search(line):
        return False
    try:
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def unread(message: dict[str, object]) -> Fault | None:
    """Return the answer to a message with no `fault` that cannot be read all the same; None if it is no request."""
    number = message.get("id")
    if not isinstance(number, (int, str)) or "method" not in message:
        return None
    return Fault(number, INVALID_REQUEST, "This request cannot be read: objects and arrays may be nested 190 deep.")
