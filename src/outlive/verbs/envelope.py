"""The envelope: the object around every answer, in the size that the caller asked for, and its bytes. Both faces use it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from outlive import verbs
from outlive.answers import Answer, advice
from outlive.errors import OutliveError
from outlive.jobs.context import Context
from outlive.limits import SCHEMA_VERSION
from outlive.verbs import brief
from outlive.verbs.spec import BRIEF, FULL


def full(
    type: str,
    answer: Answer,
    call: Context | None = None,
    *,
    titles: bool = True,
    report: Mapping[str, object] = MappingProxyType({}),
) -> dict[str, object]:
    """Return the object of an answer, with all its members; `sized` puts them in order. `call` adds what it has to say to
    the hint, with `titles` also which job a title named. `report`: how long the call was allowed to wait."""
    members: dict[str, object] = {"schema_version": SCHEMA_VERSION, "ok": True, "type": type}
    answer.write_into(members)
    members |= report
    if call is not None:
        advice.say(members, call.said(members.get("job_id"), titles=titles))
    members |= _as_session(members)
    return members


def answer(type: str, members: Mapping[str, object]) -> dict[str, object]:
    """Return the full answer with these members."""
    made = {"schema_version": SCHEMA_VERSION, "ok": True, "type": type, **members}
    made |= _as_session(made)
    return sized(made, FULL)


def sized(full: dict[str, object], detail: str) -> dict[str, object]:
    """Return a full answer in the size that the call asked for, its members in their order. An error has one size."""
    if not full["ok"]:
        return full
    fields, places = verbs.fields_of(str(full["type"])), verbs.places_of(str(full["type"]))
    names = [name for name in places.first if name in full]
    names += [name for name in full if name not in places.ends]
    names += [name for name in places.last if name in full]
    return brief.of(full, fields, names) if detail == BRIEF else {name: full[name] for name in names}


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
