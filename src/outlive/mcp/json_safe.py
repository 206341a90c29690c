"""Values that the SDK can encode as JSON, and messages that it can decode.

JavaScript cuts text between the two halves of a surrogate pair, and its JSON then holds a half as
an escape. The parser of the SDK refuses that, so that a call would get no answer, or one without
reason. A half in the arguments of a call therefore becomes a mark that no text contains, and the
check of the arguments gets the half back (`restored`) and refuses it by name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping

from outlive import fastjson

_HALF_ESCAPED = re.compile(rb"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")
_MARK = f"<half {os.urandom(16).hex()} "
_MARKED = re.compile(f"{_MARK}([0-9a-f]{{4}})>")
_met: list[bool] = []  # not empty once any half was marked


def decodable(message: bytes) -> bytes:
    """Return a message of a client in a form that the SDK can decode. What is wrong with it in other ways stays."""
    if not _HALF_ESCAPED.search(message):
        return message
    try:
        content = fastjson.loads(message)
        params = content["params"]
        whole = _members_mapped({**params, "arguments": None}, lambda text: _HALF.sub("\ufffd", text))
        if "arguments" in params:
            whole["arguments"] = _texts_mapped(params["arguments"], lambda text: _HALF.sub(_mark, text))
        else:
            del whole["arguments"]
    except (ValueError, TypeError, KeyError, RecursionError):  # no JSON, or no request with parameters
        return message
    return message if whole == params else fastjson.dumps({**content, "params": whole}).encode()


def _mark(half: re.Match[str]) -> str:
    _met[:] = [True]
    return f"{_MARK}{ord(half[0]):04x}>"


def restored(arguments: Mapping[str, object]) -> Mapping[str, object]:
    if not _met or _MARK not in str(arguments):
        return arguments
    return _members_mapped(arguments, lambda text: _MARKED.sub(lambda half: chr(int(half[1], 16)), text))


def _members_mapped(members: Mapping[str, object], change: Callable[[str], str]) -> dict[str, object]:
    return {change(name): _texts_mapped(one, change) for name, one in members.items()}


def _texts_mapped(value: object, change: Callable[[str], str]) -> object:
    """Return the value with every text in it changed, names of members too.

    Errors: TypeError for a value that JSON does not have.
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return _members_mapped(value, change)
    if isinstance(value, (list, tuple)):
        return [_texts_mapped(one, change) for one in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    raise TypeError(f"{type(value).__name__} in an answer")


def encodable_members(members: Mapping[str, object]) -> dict[str, object]:
    """Return an object without lone surrogates. A path that is not UTF-8 would end the SDK's writer, and the server.

    Errors: TypeError for a value that JSON does not have.
    """
    return _members_mapped(members, encodable_text)


def encodable_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape" if _escaped(text) else "replace").decode("utf-8", "replace")
    return text


def _escaped(value: str) -> bool:
    """Return whether all its surrogates stand for bytes, as made by os.fsdecode()."""
    return all("\udc80" <= char <= "\udcff" for char in value if "\ud800" <= char <= "\udfff")
