"""The envelope: the object around every answer, and its bytes. Both faces use it."""

from __future__ import annotations

from outlive import fastjson
from outlive.limits import SCHEMA_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.errors import OutliveError


def answer(type: str, result: dict[str, Any]) -> dict[str, Any]:
    return {"schema_version": SCHEMA_VERSION, "ok": True, "type": type, **result}


def failure(error: OutliveError) -> dict[str, Any]:
    return {"schema_version": SCHEMA_VERSION, "ok": False, "type": "error", "error": error.to_dict()}


def encoded(envelope: dict[str, Any]) -> bytes:
    """Return the envelope as one line of UTF-8 JSON, without the newline."""
    try:
        return _dumped(envelope, ascii_only=False).encode("utf-8")
    except UnicodeEncodeError:
        # A path or argument that is no UTF-8 holds lone surrogates here; as \udcXX they are valid
        # JSON.
        return _dumped(envelope, ascii_only=True).encode("ascii")


def _dumped(envelope: dict[str, Any], *, ascii_only: bool) -> str:
    return fastjson.dumps(envelope, ensure_ascii=ascii_only, allow_nan=False, separators=(",", ":"))
