"""Delete a finished job."""

from __future__ import annotations

from outlive.core.records import CONTROL
from outlive.errors import OutliveError
from outlive.jobs import adoption, ending, lookup
from outlive.verbs.spec import JOB_ID, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting


def clear(ctx: Context, *, job: str) -> Waiting[dict[str, Any]]:
    """Delete the directory of a finished job, with its output."""
    with lookup.open_exactly(ctx, job, "clear", "a deletion cannot be taken back") as found_job:
        found = adoption.inspect_and_adopt(ctx, found_job)
        if not found.state.finished:
            raise OutliveError(
                "invalid_state",
                f"the job is {found.state.state}; clear deletes finished jobs",
                hint="remove ends it first.",
            )
        ctx.note("clear", found_job.job_id)
        state, freed = yield from ending.delete(ctx, found_job)
        return {"job_id": found_job.job_id, "state": state, "freed_bytes": freed}


VERB = Verb(
    "clear",
    "Delete a finished job and its output.",
    clear,
    args=(JOB_ID,),
    right=CONTROL,
    result="job_id state freed_bytes hint?",
    slow=True,
)
