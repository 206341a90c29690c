"""Delete a finished job."""

from __future__ import annotations

from outlive.actions import access
from outlive.actions.spec import JOB, Verb
from outlive.errors import OutliveError, from_os
from outlive.store import gc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.actions.spec import Context
    from outlive.store.jobdir import JobDir


def clear(ctx: Context, *, job: str) -> dict[str, Any]:
    """Delete the directory of a job that has ended, with its output."""
    with access.open_job(ctx, job) as found_job:
        state = access.look(ctx, found_job).state
        if not state.finished:
            raise OutliveError(
                "invalid_state", f"the job is {state.state}; clear deletes finished jobs", hint="remove ends it first."
            )
        return {"job_id": found_job.job_id, "state": state.state, "freed_bytes": delete(ctx, found_job)}


def delete(ctx: Context, job: JobDir) -> int:
    """Bytes given back. Errors: invalid_state while something of it still runs."""
    try:
        return gc.delete(ctx.store, job)
    except BlockingIOError:
        raise OutliveError(
            "invalid_state",
            "processes that the job started still run and write into its directory",
            hint="kill ends them, remove ends and deletes them.",
        ) from None
    except FileNotFoundError as error:
        raise OutliveError("job_not_found", f"no job {job.job_id!r}: it was removed just now") from error
    except OSError as error:
        raise from_os(f"deleting {job.path}", error) from error


VERB = Verb(
    "clear",
    "Delete a finished job and its output.",
    clear,
    args=(JOB,),
    result="job_id state freed_bytes",
)
