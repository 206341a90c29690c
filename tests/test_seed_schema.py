"""The seed's definitions, restated: what they take and what they refuse."""

from __future__ import annotations

from typing import Any

from support import schema

HEAD = {"schema_version": "0.1", "ok": True}
JOB = {"job_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}
NOW = "2026-01-01T00:00:00.000Z"
COUNTS = {f"{stream}_{what}_bytes": 0 for stream in ("stdout", "stderr") for what in ("observed", "included")}
TAILS = {"stdout_tail": "", "stderr_tail": "", "truncated": False, "encoding": "utf-8", **COUNTS}
LOGS = {"stdout_log_path": "/o", "stderr_log_path": "/e"}
ANSWERS: dict[str, dict[str, Any]] = {
    "run": {**JOB, **LOGS, "state": "running", "waited_ms": 0, "elapsed_ms": 1, "snapshot": TAILS, "env_vars": ["A=***"]},
    "status": {**JOB, "state": "exited", "exit_code": 0, "started_at": NOW, "finished_at": NOW},
    "tail": {**JOB, **LOGS, **TAILS},
    "wait": {**JOB, "state": "killed", "exit_code": None},
    "kill": {**JOB, "signal": "SIGTERM"},
    "list": {"root": "/r", "jobs": [{**JOB, "state": "exited", "started_at": NOW}], "truncated": False, "skipped": 0},
    "schema": {"schema_format": "json-schema-2020-12", "schema": {}, "generated_at": NOW},
    "error": {"ok": False, "error": {"code": "io_error", "message": "no", "retryable": True}},
}  # fmt: skip


def takes(kind: str, **changes: Any) -> bool:
    answer = {**HEAD, "type": kind, **ANSWERS[kind], **changes}
    given = {name: value for name, value in answer.items() if value is not ...}
    return bool(schema.seed_validator(schema.SEED_TYPES[kind]).is_valid(given))


def test_an_answer_is_taken_with_more_fields_and_with_no_required_one_less() -> None:
    optional = {"run": {"snapshot", "env_vars"}, "status": {"exit_code", "finished_at"}, "wait": {"exit_code"}}
    for kind, answer in ANSWERS.items():
        assert takes(kind) and takes(kind, another="field")
        for name in {**HEAD, "type": kind, **answer}.keys() - optional.get(kind, set()):
            assert not takes(kind, **{name: ...}), name
        for wrong in ({"schema_version": "0.2"}, {"type": "other"}, {"ok": "yes"}):
            assert not takes(kind, **wrong)


def test_a_state_is_one_of_the_known_ones() -> None:
    for kind in ["run", "status", "wait"]:
        assert all(takes(kind, state=state) for state in ("running", "exited", "killed", "failed", "unknown"))
        assert not takes(kind, state="done")


CREATED = {**JOB, "state": "created", "created_at": NOW}


def test_what_makes_sense_alone_is_taken() -> None:
    rows: list[tuple[str, dict[str, Any], bool]] = [
        # Only a created job has no start
        ("status", {"state": "created", "started_at": ..., "created_at": NOW}, True),
        ("status", {"state": "created", "started_at": ...}, False),
        ("status", {"started_at": None}, False),
        ("list", {"jobs": [CREATED]}, True),
        ("list", {"jobs": [{**CREATED, "state": "failed"}]}, False),
        ("run", {"state": "created"}, False),
        # A time is UTC with milliseconds
        ("status", {"started_at": "2026-01-01T00:00:00Z"}, False),
        ("status", {"started_at": "2026-01-01 00:00:00.000Z"}, False),
        ("status", {"finished_at": "2026-01-01T00:00:00.000+00:00"}, False),
        ("run", {"waited_ms": -1}, False),
        ("tail", {"stdout_observed_bytes": -1}, False),
        ("list", {"skipped": -1}, False),
        ("error", {"ok": True}, False),
    ]
    for kind, changes, taken in rows:
        assert takes(kind, **changes) is taken
