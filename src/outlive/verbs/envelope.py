"""The envelope: the object around every answer, in the size that the caller asked for, and its bytes. Both faces use it."""

from __future__ import annotations

import json
from typing import Any

from outlive import verbs
from outlive.answers import FIRST, LAST
from outlive.errors import OutliveError
from outlive.limits import SCHEMA_VERSION
from outlive.verbs import brief
from outlive.verbs.spec import BRIEF, FULL

_HEAD = ("schema_version", "ok", "type")


def answer(type: str, result: dict[str, object], detail: str = FULL) -> dict[str, object]:
    return sized({"schema_version": SCHEMA_VERSION, "ok": True, "type": type, **result}, detail)


def sized(full: dict[str, object], detail: str) -> dict[str, object]:
    """Return a full answer in the size that the call asked for, its members in their order. An error has one size."""
    if not full["ok"]:
        return full
    fields = verbs.fields_of(str(full["type"]))
    if detail == BRIEF:
        members = brief.of(full, fields)
    else:
        members = {**full, **_as_session(full)}
    first = [name for name in fields if name in members and fields[name].place == FIRST]
    last = [name for name in fields if name in members and fields[name].place == LAST]
    middle = [name for name in members if name not in last]
    return {name: members[name] for name in (*_HEAD, *first, *middle, *last) if name in members}


def _as_session(full: dict[str, object]) -> dict[str, str]:
    """Return the job as a session, which is what agents that know OpenClaw's `process` look for."""
    state = full.get("state")
    if state is None or "job_id" not in full:
        return {}
    by_itself = state == "exited" and full.get("reason") in (None, "exit", "kill")
    status = state if state in ("created", "running", "unknown") else "completed" if by_itself else "failed"
    return {"sessionId": str(full["job_id"]), "status": status}


def failure(error: OutliveError) -> dict[str, object]:
    return {"schema_version": SCHEMA_VERSION, "ok": False, "type": "error", "error": error.to_dict()}


def encoded(envelope: dict[str, object]) -> bytes:
    """Return the envelope as one line of UTF-8 JSON, without the newline."""
    how: Any = {"allow_nan": False, "separators": (",", ":")}
    try:
        return json.dumps(envelope, ensure_ascii=False, **how).encode("utf-8")
    except UnicodeEncodeError:
        # A path or argument that is no UTF-8 holds lone surrogates here; as \udcXX they are valid
        # JSON.
        return json.dumps(envelope, ensure_ascii=True, **how).encode("ascii")
