"""How long each run of a command took."""

from __future__ import annotations

from itertools import islice
from typing import Any

from outlive.jobs import adoption, lookup
from outlive.jobs.context import Context
from outlive.jobs.diagnosis import earlier_runs
from outlive.system.waiting import checkpoint

_MOST = 60


def runs(ctx: Context, job_id: str) -> dict[str, Any]:
    """Return the last runs of the command of a job that have ended, the newest last, as the list shows how each ended.
    Errors: job_not_found."""
    with lookup.open_job(ctx, job_id) as job:
        definition = adoption.inspect_and_adopt(ctx, job).definition
    found: list[dict[str, Any]] = []
    for run in islice(earlier_runs.runs_among(ctx, definition, iter(ctx.store.newest_ids())), _MOST):
        with run:
            state = run.read_state()
            checkpoint()
        if state is not None:
            shown = {"job_id": run.job_id, "state": state.state, "exit_code": state.exit_code, "reason": state.reason}
            found.append({**shown, "started_at": state.started_at, "finished_at": state.finished_at})
    return {"job_id": definition.job_id, "runs": found[::-1]}
