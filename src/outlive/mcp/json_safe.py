"""Values that the SDK can encode as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping


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
