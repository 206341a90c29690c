"""Values that the SDK can encode as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def encodable(value: Any) -> Any:
    """Return the value without lone surrogates. A path that is not UTF-8 would end the SDK's
    writer, and the server.

    Errors: TypeError for a value that JSON does not have.
    """
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
    """Return whether all its surrogates stand for bytes, as made by os.fsdecode()."""
    return all("\udc80" <= char <= "\udcff" for char in value if "\ud800" <= char <= "\udfff")
