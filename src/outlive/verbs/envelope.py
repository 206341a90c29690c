"""The envelope: the object around every answer, and its bytes. Both faces use it."""

from __future__ import annotations

from outlive import fastjson
from outlive.limits import SCHEMA_VERSION
from outlive.verbs.spec import BRIEF, FULL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.errors import OutliveError

# A client may cut an answer anywhere: how the job ended stands in front, its output at the end
_FIRST = ("schema_version", "ok", "type", "job_id", "sessionId", "status", "state", "exit_code", "signal", "reason")
_LAST = ("jobs", "events", "lines", "stdout_tail", "stderr_tail", "snippet", "output", "snapshot")


def answer(type: str, result: dict[str, Any], detail: str = FULL) -> dict[str, Any]:
    return sized({"schema_version": SCHEMA_VERSION, "ok": True, "type": type, **result}, detail)


def sized(found: dict[str, Any], detail: str) -> dict[str, Any]:
    """Return a full answer in the size that the call asked for, its members in their order. An
    error has one size."""
    if not found["ok"]:
        return found
    if detail == BRIEF:
        from outlive.verbs import brief  # late: the command line prints full answers

        return _ordered(brief.of(found))
    return _ordered({**found, **_as_session(found)})


def _as_session(found: dict[str, Any]) -> dict[str, str]:
    """Return the job as a session, which is what agents that know OpenClaw's `process` look for."""
    state = found.get("state")
    if state is None or "job_id" not in found:
        return {}
    by_itself = state == "exited" and found.get("reason") in (None, "exit", "kill")
    over = state not in ("created", "running", "unknown")
    status = "completed" if by_itself else "failed" if over else "running"
    return {"sessionId": found["job_id"], "status": status}


def _ordered(found: dict[str, Any]) -> dict[str, Any]:
    first = {name: found[name] for name in _FIRST if name in found}
    last = {name: found[name] for name in _LAST if name in found}
    return {**first, **{name: value for name, value in found.items() if name not in last}, **last}


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
