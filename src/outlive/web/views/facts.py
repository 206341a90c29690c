"""What stands beside the output of a job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from outlive.core.members import number_of, object_of

_NEVER_RAN = ("denied", "launch")


def facts(job: dict[str, Any]) -> list[list[object]]:
    """Return what is known of an answer of `status`, as `[name, value, kind]`: a kind is `at` for a time, `ms`, `bytes`,
    or none for words."""
    return [[name, value, kind] for name, value, kind in _facts(job) if value or (value == 0 and name == "exit code")]


def _facts(job: dict[str, Any]) -> Iterator[tuple[str, object, str | None]]:
    engine, queue, sandbox, usage = (object_of(job, name) for name in ("engine", "queue", "sandbox", "usage"))
    is_over, has_run = job.get("finished_at"), job.get("reason") not in _NEVER_RAN
    yield "exit code", job.get("exit_code"), None
    yield "signal", job.get("signal"), None
    yield "reason", job.get("reason"), None
    yield "pid", job.get("pid") if job.get("state") == "running" else None, None
    yield "started", job.get("started_at") if has_run else None, "at"
    yield "ended" if has_run else "given up", is_over, "at"
    yield "host", job.get("host") or job.get("machine"), None
    yield "engine", _words(engine.get("name"), engine.get("job_id"), engine.get("state")), None
    yield "queue", None if is_over else _words(queue.get("state"), queue.get("reason")), None
    yield "may start", queue.get("estimated_start"), "at"
    yield "out of reach since", job.get("unreachable_since") if job.get("reachable") is False else None, "at"
    yield "sandbox", f"{sandbox['mode']}, network {sandbox['network']}" if sandbox else None, None
    yield "owner", job.get("owner"), None
    yield "time limit", job.get("timeout_ms"), "ms"
    if usage:
        yield "CPU time", number_of(usage, "user_ms") + number_of(usage, "system_ms"), "ms"
        yield "most memory", usage.get("peak_memory_bytes"), "bytes"
    yield "restarted from", (job.get("restarted_from") or "")[-8:].lower(), None


def _words(*parts: object) -> str:
    return " · ".join(str(part) for part in parts if part)
