"""Delete a finished job."""

from __future__ import annotations

import time

from outlive import limits
from outlive.errors import OutliveError, from_os
from outlive.jobs import adoption, lookup, processes
from outlive.jobs.waiting import Pause
from outlive.store.cleanup import delete as delete_module
from outlive.verbs.spec import JOB, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from outlive.jobs.context import Context
    from outlive.jobs.waiting import Waiting
    from outlive.store.job_dir import JobDir


def clear(ctx: Context, *, job: str) -> Waiting[dict[str, Any]]:
    """Delete the directory of a job that has ended, with its output."""
    with lookup.open_job(ctx, job) as found_job:
        found = adoption.inspect_and_adopt(ctx, found_job)
        if not found.state.finished:
            raise OutliveError(
                "invalid_state",
                f"the job is {found.state.state}; clear deletes finished jobs",
                hint="remove ends it first.",
            )
        freed = yield from delete(ctx, found_job)
        return {"job_id": found_job.job_id, "state": found.state.state, "freed_bytes": freed}


def delete(ctx: Context, job: JobDir, *, ending: bool = False) -> Waiting[int]:
    """Bytes given back. A supervisor that is just letting go is waited for, and with `ending` whoever it
    is ending too. Errors: invalid_state while something of
    the job still runs, job_not_found if somebody else deleted it, io_error."""
    until = time.monotonic() + limits.DELETE_S
    while True:
        try:
            return delete_module.delete(ctx.store, job)
        except BlockingIOError:
            alive = processes.survivors(adoption.inspect_and_adopt(ctx, job), job)
            if (alive and not ending) or time.monotonic() >= until:
                what = (
                    f"{len(alive)} of the processes it started still run" if alive else "its supervisor is still busy"
                )
                raise OutliveError(
                    "invalid_state",
                    f"the job cannot be deleted: {what}",
                    hint="remove ends and deletes it with everything it started.",
                ) from None
            yield Pause((), time.monotonic() + limits.SWEEP_INTERVAL_S)
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
    slow=True,
)
