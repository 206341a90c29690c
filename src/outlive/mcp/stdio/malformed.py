"""What is wrong with a message that is none of JSON-RPC, so that its sender is answered."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

from outlive import limits
from outlive.core.members import parse_json
from outlive.core.record import Value
from outlive.mcp.stdio.wire import TooLong

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS = -32700, -32600, -32602  # of JSON-RPC
NOTIFICATIONS = "notifications/"  # how the method of every notification of MCP begins


class Fault(Value):
    """`number` is the id of the request, None where it has none that could be sent back."""

    number: int | str | None
    code: int
    message: str


TOO_LONG = (
    f"This message has more than {limits.STDIO_LINE_BYTES // 1024**2} MiB, and was not read. "
    "Send less in one call; let the command read a file."
)
NO_JSON = Fault(None, PARSE_ERROR, "This line is no JSON that can be read.")
NO_MESSAGE = Fault(None, INVALID_REQUEST, "This is no message of JSON-RPC 2.0.")
HALF = (
    "This message holds half a character, a \\u escape without the other half of its surrogate pair, which is not JSON; "
    "nothing was done. Send the whole character, or leave it out."
)
_ESCAPED = re.compile(rb"\\u[dD][89a-fA-F]")  # half a pair, or a half of one
NO_ID = Fault(None, INVALID_REQUEST, 'A request needs an "id", a string or a whole number; nothing was done.')


def judged(line: bytes) -> tuple[Any, Fault | None]:
    """Return the content of a line, and what is wrong with it: None if nothing is or no answer is due. A blank line has None
    and None."""
    if isinstance(line, TooLong):
        return None, Fault(_id_in(line), INVALID_REQUEST, TOO_LONG)
    try:
        content = _decoded(line)
    except ValueError:
        return None, NO_JSON if line.strip() else None
    return content, _fault(content, line)


def _decoded(line: bytes) -> Any:
    """Return the content of a line. What is no UTF-8 in it is replaced. Errors: ValueError."""
    try:
        return parse_json(line)
    except ValueError:
        return parse_json(line.decode("utf-8", "replace"))


def _id_in(line: TooLong) -> int | str | None:
    """Return the id of a request of which the beginning and the end are known; None if neither has it. Some clients
    write it first, some last."""
    text, string = line.decode("utf-8", "replace"), r'"(?:[^"\\]|\\.)*"'
    number = rf'"id"\s*:\s*(-?\d+|{string})'
    others = rf'(?:"(?:jsonrpc|method)"\s*:\s*{string}\s*,\s*)*'
    match = re.match(rf"\s*\{{\s*{others}{number}\s*,", text)
    match = match or re.search(rf',\s*{number}\s*(?:,\s*"jsonrpc"\s*:\s*"2.0"\s*)?\}}\s*\Z', text)
    with suppress(ValueError):  # a text with a tab in it, a number of other digits
        return parse_json(match[1]) if match else None
    return None


def _fault(message: object, line: bytes) -> Fault | None:
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
