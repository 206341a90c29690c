"""What may go over the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def encodable(value: Any) -> Any:
    """Without lone surrogates: a path that is no UTF-8 would end the SDK's writer, and with it the server."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogateescape" if _escaped(value) else "replace").decode("utf-8", "replace")
        return value
    if isinstance(value, dict):
        return {encodable(key): encodable(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [encodable(one) for one in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    raise TypeError(f"{type(value).__name__} in an answer")


def _escaped(value: str) -> bool:
    """Are its surrogates all bytes of os.fsdecode()?"""
    return all("\udc80" <= char <= "\udcff" for char in value if "\ud800" <= char <= "\udfff")
