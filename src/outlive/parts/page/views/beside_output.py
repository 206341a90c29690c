"""What stands beside the output of a job: facts, why it failed, and how long each run of its command took."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from outlive.core.members import number_of, object_of
from outlive.core.started import never_ran
from outlive.jobs import adoption, job_answer, lookup
from outlive.jobs.context import Context
from outlive.part import Look
from outlive.parts.failures.lines import looked
from outlive.parts.failures.runs import earlier_runs
from outlive.render.sources import Source
from outlive.render.window import text_of
from outlive.store.output.merged import Output
from outlive.system.waiting import checkpoint

_MOST_FAILURES, _MOST_RUNS = 200, 60


def facts(job: dict[str, Any]) -> list[list[object]]:
    """Return what is known of an answer of `status`, as `[name, value, kind]`: a kind is `at` for a time, `ms`, `bytes`,
    or none for words."""
    return [[name, value, kind] for name, value, kind in _facts(job) if value or (value == 0 and name == "exit code")]


def _facts(job: dict[str, Any]) -> Iterator[tuple[str, object, str | None]]:
    engine, queue, sandbox, usage = (object_of(job, name) for name in ("engine", "queue", "sandbox", "usage"))
    is_over, began = job.get("finished_at"), job.get("started_at")
    has_run = began != job.get("created_at") and not never_ran(job.get("state") or "", job.get("reason"))
    yield "exit code", job.get("exit_code"), None
    yield "signal", job.get("signal"), None
    yield "reason", job.get("reason"), None
    yield "pid", job.get("pid") if job.get("state") == "running" else None, None
    yield "started", began if has_run else None, "at"
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


def failures(ctx: Context, job_id: str) -> dict[str, Any]:
    """Return the lines that report a failure as `[position, text]`, those that say most first; how many there are; and
    what the test report of the job says. Errors: job_not_found."""
    with lookup.open_job(ctx, job_id) as job:
        inspection = adoption.inspect_and_adopt(ctx, job)
        with Output(job) as output:
            source = Source(job, output, more=not inspection.state.finished, raw=False, text=text_of(output, None))
            added = ctx.config.get("output", "problem_matcher")
            failed = inspection.state.ended_badly
            said = job_answer.said_by_parts(Look(ctx, inspection, job, output)).fields
            found, total = looked.failures(source, added, _MOST_FAILURES, failed=failed)
    return {
        "job_id": job.job_id,
        "failures": [[one.seq, one.text] for one in found],
        "total": total,
        **({name: value for name, value in said.to_dict().items() if name == "tests"} if said else {}),
    }


def runs(ctx: Context, job_id: str) -> dict[str, Any]:
    """Return the last runs of the command of a job that have ended, the newest last, as the list shows how each ended.
    Errors: job_not_found."""
    with lookup.open_job(ctx, job_id) as job:
        definition = adoption.inspect_and_adopt(ctx, job).definition
    found: list[dict[str, Any]] = []
    for run in islice(earlier_runs.runs_of(ctx.caller, definition), _MOST_RUNS):
        with run:
            state = run.read_state()
            checkpoint()
        if state is not None:
            shown = {"job_id": run.job_id, "state": state.state, "exit_code": state.exit_code, "reason": state.reason}
            found.append({**shown, "started_at": state.started_at, "finished_at": state.finished_at})
    return {"job_id": definition.job_id, "runs": found[::-1]}
