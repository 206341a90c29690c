"""A field that a brief answer has is in the text for a model and in the text for a person too: a client may show one alone."""

from __future__ import annotations

from typing import Any

import pytest

from outlive import verbs
from outlive.answers import FULL_ONLY, Field
from outlive.answers.listing import Listed
from outlive.cli import human
from outlive.cli.text import Style
from outlive.core.units import seconds_of
from outlive.mcp.tools import answer_text
from support.schema import own

ID, AT, LATER = "01M8K68G5C4F4NK8WD4JA1JHSB", "2026-01-02T03:04:05.678Z", "2026-01-02T03:05:05.678Z"
STYLE = Style(now=seconds_of(LATER))
SCHEMA = own()["$defs"]
RUNS: dict[str, Any] = {
    "ok": True, "type": "status", "job_id": ID, "short_id": "4JA1JHSB", "state": "running", "name": "n", "command": ["x"],
    "exit_code": None, "started_at": AT, "created_at": "2026-01-01T03:04:05.678Z", "pid": 7, "tags": [], "owner": "cli", "idle_ms": 0, "timeout_ms": 0,
}  # fmt: skip
FAILED = RUNS | {"state": "exited", "exit_code": 3, "reason": "exit", "finished_at": LATER, "duration_ms": 60_000}
KILLED = FAILED | {"state": "killed", "exit_code": None, "reason": "kill", "signal": "SIGTERM"}
ASKS = RUNS | {"waiting_for_input": True}
NEVER = FAILED | {"state": "failed", "exit_code": None, "reason": "launch"}
CREATED = RUNS | {"state": "created"}
OTHERS = FAILED | {"job_id": ID[:-1] + "C", "short_id": "4JA1JHSC", "owner": "codex", "cwd": "/other"}
JOBS = (RUNS, FAILED, KILLED, ASKS, NEVER, CREATED)
TOGETHER: dict[str, Any] = {"supervisor_pid": {"supervisor": "unresponsive"}}
IN_A_HINT = {"keyboard", "descendants", "echo"}  # a kind of advice
FOR_A_PROGRAM = {"next_seq", "stdout_bytes", "stderr_bytes", "prompt", "notification"}  # not for a person
ELSEWHERE = {
    ("status", "model"): IN_A_HINT | {"stderr_bytes"},  # beside stdout_bytes
    ("status", "human"): IN_A_HINT | FOR_A_PROGRAM | {"job_id", "ended_by", "errno"},  # short_id; message
    ("list", "model"): {"job_id", "reason", "approval"},  # short_id; state
    ("list", "human"): {"job_id", "approval", "session", "others"},  # OWNER and DIRECTORY
}


def said(kind: str, face: str, job: dict[str, Any]) -> str:
    answer = job
    if kind == "list":
        answer = {"ok": True, "type": "list", "jobs": [job, OTHERS], "truncated": False, "root": "/r", "skipped": 0}
    return answer_text.render(answer) if face == "model" else human.answer(answer, STYLE)


def value_of(schema: dict[str, Any], name: str) -> Any:
    """A value that this schema allows, and that says something."""
    if "$ref" in schema:
        return value_of(SCHEMA[schema["$ref"].rpartition("/")[2]], name)
    if "anyOf" in schema:
        return value_of(schema["anyOf"][0], name)
    if "enum" in schema:
        return next(one for one in reversed(schema["enum"]) if one is not None)
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        members = schema.get("properties", {})
        return {inner: value_of(one, inner) for inner, one in members.items()} or {name: "x"}
    if kind == "array":
        return [value_of(schema.get("items", {}), name)]
    return {"integer": 77_777, "number": 77_777, "boolean": name != "reachable"}.get(
        kind, AT if schema.get("format") == "date-time" else f"{name}-x"
    )


def brief_fields(kind: str) -> list[str]:
    if kind == "list":
        return [name for name in Listed.BRIEF + Listed.BRIEF_OF_OTHERS if name != "state"]
    return [name for name, field in verbs.fields_of("status").items() if field.brief != FULL_ONLY and name != "state"]


@pytest.mark.parametrize("face", ["model", "human"])
@pytest.mark.parametrize("kind", ["status", "list"])
def test_each_field_of_a_brief_answer_changes_the_text(kind: str, face: str) -> None:
    schemas = SCHEMA["status" if kind == "status" else "Listed"]["properties"]
    silent = set()
    for name in brief_fields(kind):
        value = value_of(schemas[name], name)
        with_it = [said(kind, face, job | TOGETHER.get(name, {}) | {name: value}) for job in JOBS]
        without = [said(kind, face, {key: one for key, one in job.items() if key != name}) for job in JOBS]
        if with_it == without:
            silent.add(name)
    assert silent <= ELSEWHERE[kind, face]


@pytest.mark.parametrize("face", ["model", "human"])
def test_a_field_that_no_sentence_knows_shows(face: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {**verbs.fields_of("status"), "fresh_ms": Field("New.", {}), "unseen": Field("New.", {"brief": FULL_ONLY})}
    monkeypatch.setattr(verbs, "fields_of", lambda _type: fields)
    shown = said("status", face, RUNS | {"fresh_ms": 1_500, "unseen": "x"})
    assert "fresh: 1.5 s\n" in shown + "\n" and "unseen" not in shown


def test_where_a_job_is_stands_in_its_row() -> None:
    job = RUNS | {"host": "box", "reachable": False}
    assert "[host: box]" in said("list", "model", job) and "[reachable: false]" in said("list", "model", job)
    head, row, _ = said("list", "human", job).splitlines()
    assert "HOST" in head and "box" in row
